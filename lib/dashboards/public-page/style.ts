/** What is folded away cannot be unfolded in a picture. */
export const PICTURE_STYLE = 'details:not([open]) { display: none; }\n';

/** The style sheet of public pages. Colours are the reader's, light or dark; contrast is at least 4.5 to 1. */
export const STYLE = `
:root { color-scheme: light dark; --back: #f6f7f9; --tile: #fff; --text: #1b1f24; --soft: #555c66; --line: #d4d8de;
  --link: #0b57d0; }
@media screen and (prefers-color-scheme: dark) { :root { --back: #14161a; --tile: #1d2025; --text: #e8eaed; --soft: #a9b0ba;
  --line: #383d45; --link: #8ab4f8; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 80rem; padding: 1.5rem 1rem; background: var(--back); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { margin: 0 0 .5rem; font-size: 1.75rem; line-height: 1.2; }
h2, h3, h4, h5, h6 { margin: 0 0 .5rem; font-size: 1.1rem; line-height: 1.3; }
p, ul, ol, blockquote, table, pre { margin: 0 0 .75rem; }
a { color: var(--link); }
a:focus-visible, summary:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
header { margin-bottom: 1.5rem; }
header p { color: var(--soft); white-space: pre-line; }
.tags { display: flex; flex-wrap: wrap; gap: .5rem; padding: 0; list-style: none; }
.tags li { padding: 0 .6rem; border: 1px solid var(--line); border-radius: 1rem; color: var(--soft); font-size: .875rem; }
.tiles { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1rem; }
.tile { position: relative; min-width: 0; padding: 1rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--tile); }
.tile > :last-child { margin-bottom: 0; }
summary { width: fit-content; color: var(--soft); cursor: pointer; }
pre, code { font: .875rem/1.45 ui-monospace, monospace; }
pre { padding: .75rem; border-radius: .25rem; background: var(--back); white-space: pre-wrap; }
details pre { margin: .5rem 0 0; }
blockquote { margin-inline: 0; padding-left: 1rem; border-left: 3px solid var(--line); color: var(--soft); }
table { border-collapse: collapse; }
th, td { padding: .25rem .6rem; border: 1px solid var(--line); text-align: left; }
.note, footer { color: var(--soft); }
footer { margin-top: 1.5rem; font-size: .875rem; }
.problem { max-width: 34rem; margin: 15vh auto 0; text-align: center; }
.unseen { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); }
.about { color: var(--soft); }
.choices { display: flex; flex-wrap: wrap; gap: .5rem; padding: 0; list-style: none; }
.choices a { display: block; padding: .2rem .7rem; border: 1px solid var(--line); border-radius: 1rem; background: var(--tile); text-decoration: none; }
.choices a[aria-current] { border-color: var(--link); background: var(--link); color: var(--tile); }
.notice { padding: .75rem 1rem; border: 1px solid var(--line); border-left: .25rem solid var(--link); border-radius: .25rem; background: var(--tile); }
.download { margin: .5rem 0 0; text-align: end; font-size: .875rem; }
input, button { padding: .4rem .7rem; border: 1px solid var(--soft); border-radius: .25rem; background: var(--tile); color: inherit; font: inherit; }
input { display: block; width: 100%; margin-top: .25rem; }
@media (min-width: 48rem) { .tiles { grid-template-columns: repeat(12, minmax(0, 1fr)); grid-auto-rows: minmax(3rem, auto); } .tile { grid-column: span 6; } }
@media print { body { max-width: none; padding: 0; background: none; } .tile { break-inside: avoid; } nav, .download, footer a { display: none; } }
`;
