/** Inlined and allowed by its hash, so that the page needs no second request and the policy no exception. */
export const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d8dee4, #30363d); --dim: light-dark(#57606a, #8b949e);
  --ground: light-dark(#ffffff, #0d1117); --card: light-dark(#f6f8fa, #161b22); --ink: light-dark(#1f2328, #e6edf3) }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 62rem; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif }
h1 { margin: 0; font-size: 1.6rem }
h2 { margin: 2.5rem 0 .5rem; font-size: 1.15rem }
h3 { margin: 1rem 0 .25rem; font-size: .9rem; color: var(--dim) }
p { margin: .25rem 0 .75rem }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: 1rem 0 }
a { color: light-dark(#0550ae, #79b8ff) }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; background: var(--card) }
summary { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem .75rem; padding: .5rem .75rem; cursor: pointer }
summary::before { content: '▸'; color: var(--dim) }
details[open] > summary::before { content: '▾' }
summary:focus-visible { outline: 2px solid light-dark(#0550ae, #79b8ff); outline-offset: 2px }
summary span { color: var(--dim); flex: 1 1 16rem }
article { padding: 0 .75rem .75rem; border-top: 1px solid var(--line) }
code, pre { font: .85rem/1.45 ui-monospace, monospace; overflow-wrap: anywhere }
pre { margin: .25rem 0; padding: .6rem; overflow: auto; max-height: 24rem; background: var(--ground);
  border: 1px solid var(--line); border-radius: 6px; white-space: pre-wrap }
.method { display: inline-block; min-width: 4.2rem; font-weight: 700 }
.GET { color: light-dark(#116329, #56d364) }
.POST { color: light-dark(#0550ae, #79b8ff) }
.PUT { color: light-dark(#7d4e00, #e3b341) }
.DELETE { color: light-dark(#a40e26, #ff7b72) }
table { width: 100%; border-collapse: collapse }
td { padding: .25rem .5rem .25rem 0; vertical-align: top; border-top: 1px solid var(--line) }
td:first-child { white-space: nowrap; width: 1% }
`
