"""Adapters: every environment through the interfaces that other libraries speak.

| interface | class | needs |
| --- | --- | --- |
| Gymnasium, one agent, others fixed | `fairgym.adapters.gymnasium.GymnasiumEnv` | gymnasium |
| PettingZoo, parallel | `fairgym.adapters.pettingzoo.PettingZooEnv` | pettingzoo |
| JaxMARL's `MultiAgentEnv` | `fairgym.adapters.jaxmarl.JaxMarlEnv` | nothing |

The first two need the extra `interop`. With `vector_rewards=True` rewards are
vectors, one number per term, as MO-Gymnasium and MOMAland have them.
"""
