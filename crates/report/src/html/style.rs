//! How the page looks. Colours are those of the pictures (`svg::style`).

/// The style sheet of the page.
pub const STYLE: &str = r#"
:root{color-scheme:light dark;--soft:#f5f6f8;--bad:#b3261e;--warn:#8a5a00}
@media screen and (prefers-color-scheme:dark){:root{--soft:#1c2026;--bad:#ff8a80;--warn:#f0bf5c}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--text);
 font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","DejaVu Sans",sans-serif}
main{max-width:1480px;margin:0 auto;padding:40px 24px 64px}
h1,h2,h3,p,dl,dd,ul,figure{margin:0}
h1,h2,h3,p,li,dd,summary{overflow-wrap:anywhere}
h1{font-size:30px;line-height:1.2;font-weight:650;letter-spacing:-.01em}
h2{font-size:19px;line-height:1.3;font-weight:650;margin:52px 0 14px;padding-top:14px;border-top:1px solid var(--axis)}
h3{font-size:16px;line-height:1.35;font-weight:600}
code,pre,.source{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.kicker{font-size:12px;letter-spacing:.06em;text-transform:uppercase;color:var(--muted);margin-bottom:6px}
.command{margin-top:10px}
.command code{display:block;font-size:13px;background:var(--soft);padding:8px 12px;border-radius:4px;overflow-wrap:anywhere}
.keys{display:grid;grid-template-columns:repeat(auto-fit,minmax(134px,1fr));gap:18px 16px;margin-top:26px}
.keys dt{font-size:12px;color:var(--muted)}
.keys dd{font-size:19px;line-height:1.3;font-weight:600;font-variant-numeric:tabular-nums}
.facts{display:grid;grid-template-columns:minmax(90px,max-content) 1fr;gap:3px 20px;font-size:14px;margin-top:24px}
.facts dt{color:var(--muted)}
.bad{color:var(--bad)}
.marks{list-style:none;padding:0;margin-top:28px;display:grid;gap:10px}
.marks,.lines,.facts,.command{max-width:1032px}
.marks li{border-left:3px solid var(--axis);background:var(--soft);padding:8px 14px;font-size:14px}
.marks li.counts{border-color:var(--warn)}
.marks b{font-weight:600}
.marks .counts b{color:var(--warn)}
.marks p,.note{color:var(--muted)}
.note{font-size:13px;margin-top:8px;max-width:76ch}
.lines{padding:0;list-style:none;font-size:14px;display:grid;gap:4px}
.scroll{overflow-x:auto;position:relative;
 background:linear-gradient(90deg,var(--page) 50%,transparent) 0 0/40px 100% local,
  linear-gradient(270deg,var(--page) 50%,transparent) 100% 0/40px 100% local,
  linear-gradient(90deg,var(--axis),transparent) 0 0/10px 100%,
  linear-gradient(270deg,var(--axis),transparent) 100% 0/10px 100%;background-repeat:no-repeat}
.scroll:focus-visible{outline:2px solid var(--s0);outline-offset:2px}
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums;line-height:1.45}
.sheet{margin-top:22px}
.sheet:first-of-type{margin-top:0}
th{font-weight:500;color:var(--muted);text-align:right;vertical-align:bottom;white-space:nowrap;padding:2px 0 6px 22px;border-bottom:1px solid var(--axis)}
th small{display:block;font-size:12px}
td{text-align:right;white-space:nowrap;padding:2px 0 2px 22px}
th.word,td.word{text-align:left}
th:first-child,td:first-child{padding-left:0}
tr.group td{text-align:left;font-weight:600;padding-top:10px;white-space:normal;overflow-wrap:anywhere;min-width:16em}
td.in1{padding-left:14px!important}
td.in2{padding-left:32px!important;color:var(--muted)}
tr.part td{color:var(--muted)}
tbody tr:hover td{background:var(--soft)}
.source table{min-width:100%;font-size:12.5px;line-height:1.5}
.source th,.source td{padding:0 0 0 14px}
.source th{font:500 12px/1.4 system-ui,sans-serif;padding-bottom:6px}
.source td.n{color:var(--muted);padding-left:18px}
.source td.code{text-align:left;white-space:pre;padding-left:14px;tab-size:4;width:99%}
.source td.bar,.source th.bar{padding-left:0;min-width:92px;text-align:left}
.source .bar i{display:block;height:9px;background:var(--s1);min-width:1px;-webkit-print-color-adjust:exact;print-color-adjust:exact}
.source tr.on td.code{background:var(--soft)}
.source tr.gap td{text-align:left;color:var(--muted);padding:4px 0}
.source+.source{margin-top:24px}
.scroll pre{margin:0;font-size:12.5px;line-height:1.5}
.file{font-size:13px;color:var(--muted);margin-bottom:8px}
.picture{display:block;max-width:100%;height:auto;margin-top:12px}
.picture text{font-variant-numeric:tabular-nums}
.narrow{display:none}
figure{padding:22px 0 4px;max-width:720px}
figure+figure{border-top:1px solid var(--grid);margin-top:22px}
figcaption{color:var(--muted);font-size:14px;margin-top:2px;overflow-wrap:anywhere}
details{margin-top:8px;font-size:13px}
summary{cursor:pointer;color:var(--muted)}
details .scroll{max-height:320px;overflow:auto;margin-top:6px}
@media screen and (max-width:1280px){
 th,td{padding-left:11px}
}
@media (max-width:640px){
 main{padding:24px 16px 40px}
 h1{font-size:24px}
 h2{margin-top:40px}
 .keys{grid-template-columns:repeat(auto-fit,minmax(116px,1fr));gap:14px 12px}
 .keys dd{font-size:17px}
 .facts{grid-template-columns:1fr;gap:0}
 .facts dd{margin-bottom:6px}
 .source td.bar,.source th.bar{min-width:44px}
 .wide{display:none}
 .narrow{display:block}
}
@page{margin:16mm 14mm}
@media print{
 body{font-size:10.5pt}
 main{max-width:none;padding:0}
 .wide{display:block}
 .narrow{display:none}
 .scroll,details .scroll{overflow:visible;max-height:none;background:none}
 table,.source table{font-size:7.5pt}
 th,td{padding-left:8px}
 .source td.code{white-space:pre-wrap;overflow-wrap:anywhere}
 h2,h3,figcaption{break-after:avoid}
 figure,.marks li,tr{break-inside:avoid}
 .picture{-webkit-print-color-adjust:exact;print-color-adjust:exact}
 details:not([open]){display:none}
}
"#;
