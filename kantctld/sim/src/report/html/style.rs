//! The page's style sheet: light or dark by the reader's system setting. It loads no fonts or other
//! files.

pub const STYLE: &str = "\
:root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--ink:#1b2330;--soft:#5d6878;\
--line:#dfe3e9;--grid:#e9ecf1;--heat:#1c5fd4;--best:#e5f3ea;--c0:#2f6fde;--c1:#d9680b;--c2:#14936b;\
--c3:#a83f9a;--c4:#8a6b00;--c5:#d23b3f;--c6:#2491a8;--c7:#6a5acd}\
@media(prefers-color-scheme:dark){:root{--page:#11151b;--card:#1a2029;--ink:#e6eaf0;--soft:#9aa6b6;\
--line:#2c3542;--grid:#252d39;--heat:#6aa5ff;--best:#1c3a2c;--c0:#6aa1ff;--c1:#ff9a4a;--c2:#41cf9f;\
--c3:#e07fd2;--c4:#d5b23c;--c5:#ff7a7a;--c6:#55c9e2;--c7:#a99bff}}\
*{box-sizing:border-box}\
body{margin:0;background:var(--page);color:var(--ink);\
font:15px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",sans-serif}\
main{max-width:1180px;margin:0 auto;padding:32px 24px 48px}\
h1{font-size:26px;line-height:1.2;margin:0 0 4px;letter-spacing:-.01em}\
h2{font-size:17px;margin:36px 0 2px}\
p{margin:0;color:var(--soft)}\
section>p{margin:0 0 12px;max-width:80ch}\
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px}\
.scroll{overflow-x:auto;margin-top:24px;padding:6px 8px}\
.grid{display:grid;gap:14px}\
.two{grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr))}\
.name{display:flex;align-items:center;gap:8px;font-weight:600;font-size:14px;margin:0 0 4px}\
.name i,td i{width:10px;height:10px;border-radius:3px;display:inline-block;flex:none}\
.name b{margin-left:auto;font-weight:400;color:var(--soft);font-variant-numeric:tabular-nums}\
table{border-collapse:collapse;width:100%;font-size:13.5px;font-variant-numeric:tabular-nums}\
th{font-weight:500;color:var(--soft);text-align:right;padding:6px 8px;white-space:nowrap;\
border-bottom:1px solid var(--line)}\
td{text-align:right;padding:7px 8px;white-space:nowrap;border-bottom:1px solid var(--grid)}\
tr:last-child td{border-bottom:0}\
th:first-child,td:first-child{text-align:left}\
td:first-child{font-weight:600}td:first-child i{margin-right:8px}\
td:first-child span{font-weight:400;color:var(--soft)}\
td.best{background:var(--best);border-radius:4px;font-weight:600}\
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:13px;color:var(--soft);margin-top:6px}\
.legend i{width:10px;height:10px;border-radius:3px;display:inline-block;margin-right:6px}\
.key i{width:14px;border-radius:0;margin:0 1px 0 0}.key i:first-child{margin-left:6px}\
svg{display:block;width:100%;height:auto}.wide{overflow-x:auto}.wide svg{min-width:680px}\
svg text{font:11px system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",sans-serif;\
fill:var(--soft);font-variant-numeric:tabular-nums}\
svg text.strong{fill:var(--ink);font-weight:600;font-size:12px}\
.g{stroke:var(--grid);stroke-width:1;fill:none;shape-rendering:crispEdges}\
.a{stroke:var(--line);stroke-width:1;fill:none;shape-rendering:crispEdges}\
.band{opacity:.22;stroke:none}.mean{fill:none;stroke-width:1.5;stroke-linejoin:round}\
.whisker{fill:none;stroke-width:1.5}.dot{stroke:var(--card);stroke-width:1.5}\
.last{stroke:var(--soft);stroke-width:1;stroke-dasharray:3 3;fill:none}\
.heat{fill:var(--heat);shape-rendering:crispEdges}\
footer{margin-top:36px;font-size:13px;color:var(--soft)}\
footer dl{display:grid;grid-template-columns:max-content 1fr;gap:4px 14px;margin:8px 0 0}\
footer dt{color:var(--ink);font-weight:600}footer dd{margin:0}\
@media(max-width:640px){main{padding:20px 12px}}";
