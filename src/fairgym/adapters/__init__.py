"""Adapters: every environment with the interfaces of other libraries.

| interface | class | needs |
| --- | --- | --- |
| Gymnasium, one agent, others fixed | `fairgym.adapters.gymnasium.GymnasiumEnv` | gymnasium |
| PettingZoo, parallel | `fairgym.adapters.pettingzoo.PettingZooEnv` | pettingzoo |
| JaxMARL's `MultiAgentEnv` | `fairgym.adapters.jaxmarl.JaxMarlEnv` | nothing |
| gymnax, one agent, others fixed | `fairgym.adapters.gymnax.GymnaxEnv` | nothing |

The first two need the extra `interop`. With `vector_rewards=True` rewards are vectors with one
number per term, as in MO-Gymnasium and MOMAland.
"""
