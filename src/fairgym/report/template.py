"""Frame of a page: HTML and CSS, in which `title`, `light`, `dark` and `body` are filled in."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light; {light} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ color-scheme: dark; {dark} }} }}
body {{ font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 64rem; margin: 2rem auto 4rem; padding: 0 1rem; }}
h1 {{ font-size: 1.8rem; line-height: 1.25; margin-bottom: 0.2rem; }}
h2 {{ font-size: 1.25rem; margin: 2.8rem 0 0.6rem; }}
h3 {{ font-size: 1rem; margin: 1.6rem 0 0.4rem; }}
p, li, figcaption {{ max-width: 46rem; }}
li {{ margin: 0.25rem 0; }}
figure {{ margin: 0.8rem 0; }}
figure svg {{ display: block; width: 100%; height: auto; }}
figcaption, .note {{ color: var(--muted); font-size: 0.93rem; }}
figcaption {{ margin-top: 0.6rem; }}
.scroll {{ overflow-x: auto; }}
.scroll + .scroll {{ margin-top: 1.5rem; }}
table {{ border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }}
th, td {{ text-align: left; padding: 0.35rem 1.1rem 0.35rem 0; vertical-align: top;
  border-bottom: 1px solid var(--grid); }}
thead th {{ vertical-align: bottom; border-bottom-color: var(--muted); }}
tbody th {{ font-weight: 600; }}
td {{ overflow-wrap: anywhere; }}
.results td {{ overflow-wrap: normal; }}
.whole {{ display: inline-block; }}
.best {{ font-weight: 700; }}
small {{ color: var(--muted); font-size: 0.85em; font-weight: 400; display: block; }}
summary {{ cursor: pointer; margin-top: 1rem; }}
@media screen {{
  figure svg {{ min-width: 44rem; }}
  .results tbody th {{ min-width: 11rem; }}
  .groups tbody th {{ min-width: 9rem; }}
  .wrap {{ display: inline-block; min-width: 6.4rem; max-width: 11rem; }}
  .whole {{ white-space: nowrap; }}
}}
@media print {{
  @page {{ margin: 12mm; }}
  :root {{ font-size: 9.5pt; }}
  body {{ font-size: 1rem; max-width: none; margin: 0; padding: 0; }}
  h2, h3 {{ break-after: avoid; }}
  p, li, figcaption {{ max-width: none; }}
  figure, tr, .groups tbody {{ break-inside: avoid; }}
  /* No taller than a page with its heading and caption. */
  figure svg {{ max-height: 20.5cm; }}
  /* Nothing scrolls on paper: tables as wide as the page, whose cells wrap. */
  .scroll {{ overflow: visible; }}
  table {{ width: 100%; table-layout: fixed; font-size: 8pt; }}
  th, td {{ padding-right: 0.5rem; overflow-wrap: anywhere; }}
  thead th:first-child {{ width: 20%; }}
  .groups thead th:nth-child(2) {{ width: 14%; }}
  details::details-content {{ content-visibility: visible; }}
}}
</style>
</head>
<body>
{body}
</body>
</html>
"""
