/* style.c -- the style sheet: light, dark, paper, phone. No external fonts or pictures. */
#include "report/style.h"

#include <stddef.h>

/* Colours of series: blue, vermilion, green, purple, orange, sky, grey, which colour-blind readers can
 * distinguish (after Okabe and Ito), a little darker on white than theirs and lighter on dark. Paper is
 * always light. */
static const char colours[] =
    ":root{color-scheme:light dark;--bg:#fff;--ink:#1c2126;--soft:#5a646e;--rule:#dfe3e8;"
    "--grid:#e9ecf0;--faint:#f5f7f9;--link:#0b62a8;--best:#0b6b4a;--bar:#cfe3f3;"
    "--c0:#0069a8;--c1:#cf5200;--c2:#00875f;--c3:#b4558d;--c4:#c98500;--c5:#2f9bd8;--c6:#5f6872}\n"
    "@media screen and (prefers-color-scheme:dark){:root{--bg:#14171b;--ink:#e3e7eb;--soft:#9aa5b0;"
    "--rule:#343b43;--grid:#272d34;--faint:#1c2126;--link:#7cbcf0;--best:#5fd3a6;--bar:#21435f;"
    "--c0:#58aef0;--c1:#ff8b4a;--c2:#3fcf9c;--c3:#e59aca;--c4:#f2bd45;--c5:#9bd8fb;--c6:#aab4be}}"
    "\n";

static const char body[] =
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--bg);color:var(--ink);"
    "font:17px/1.55 Charter,'Bitstream Charter','Iowan Old Style',Cambria,Georgia,serif;"
    "-webkit-text-size-adjust:100%;text-size-adjust:100%}\n"
    "main{max-width:54rem;margin:0 auto;padding:2.5rem 1.25rem 3rem}\n"
    "h1,h2,nav,dl,table,figcaption,.title,.note,footer,svg,.code b{"
    "font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}\n"
    "h1{font-size:2rem;line-height:1.2;letter-spacing:-.015em;margin:0 0 1rem}\n"
    "h2{font-size:1.3rem;line-height:1.3;letter-spacing:-.01em;margin:2.8rem 0 "
    ".8rem;padding-top:.9rem;"
    "border-top:1px solid var(--rule)}\n"
    "p{max-width:44rem;margin:0 0 1rem;overflow-wrap:break-word}\n"
    "nav{font-size:.875rem;margin:1.2rem 0 1.6rem}\n"
    "nav ol{display:flex;flex-wrap:wrap;gap:.2rem 1.4rem;list-style:none;margin:0;padding:0}\n"
    "a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}\n"
    "dl{display:grid;grid-template-columns:minmax(7rem,max-content) 1fr;gap:.3rem 1.6rem;"
    "font-size:.9rem;margin:1.2rem 0}\n"
    "dt{color:var(--soft)}dd{margin:0;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}\n"
    ".code{margin:1.2rem 0}.code "
    "b{display:block;font-size:.85rem;font-weight:600;margin-bottom:.4rem}\n"
    "pre{margin:0;padding:.9rem 1.1rem;background:var(--faint);border:1px solid var(--rule);"
    "border-radius:6px;overflow-x:auto;font:.82rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"
    "'Liberation Mono',monospace;tab-size:4}\n"
    "footer{margin-top:3rem;padding-top:.8rem;border-top:1px solid var(--rule);font-size:.8rem;"
    "color:var(--soft)}\n";

static const char tables[] =
    /* a wide table may leave the column of text, so that none of its columns is hidden on a wide screen;
     * where it still scrolls, the names of its rows stay */
    ".table{margin:1.6rem 0}.table>.scroll{width:max-content;min-width:100%;"
    "max-width:calc(100vw - 2.5rem);position:relative;left:50%;transform:translateX(-50%)}"
    ".scroll{overflow-x:auto}.table>.scroll>table{margin:0 auto}\n"
    ".many th,.many td{padding:.3rem .45rem;white-space:normal}.many table{font-size:.76rem;"
    "border-collapse:separate;border-spacing:0}\n"
    ".many td span,.many td.r{white-space:nowrap}"
    ".many td:first-child,.many thead th:first-child{position:sticky;left:0;background:var(--bg);"
    "min-width:8rem}\n"
    "table{border-collapse:collapse;font-size:.875rem;line-height:1.4;"
    "font-variant-numeric:tabular-nums;border-top:1.5px solid var(--ink);"
    "border-bottom:1.5px solid var(--ink)}\n"
    ".title{font-size:.875rem;font-weight:600;line-height:1.4;margin:0 0 .55rem;max-width:none}\n"
    "body{counter-reset:figure table}.title::before{counter-increment:table;"
    "content:'Table ' counter(table) '. '}\n"
    "th,td{padding:.36rem .95rem;text-align:left;vertical-align:baseline;white-space:nowrap}\n"
    "thead th{font-weight:600;border-bottom:1px solid var(--ink);white-space:normal;"
    "vertical-align:bottom}\n"
    "tbody tr+tr td{border-top:1px solid var(--grid)}\n"
    "tr.group th{font-weight:500;font-style:italic;color:var(--soft);padding-top:.8rem;"
    "border-top:1px solid var(--rule)}\n"
    "tbody tr.group:first-child th{border-top:0}\n"
    ".r{text-align:right}.c{text-align:center}.best{font-weight:700;color:var(--best)}\n"
    "td.bar{min-width:8rem;background:linear-gradient(to right,var(--bar) var(--f),transparent "
    "var(--f)) "
    "0 50%/100% 70% no-repeat;print-color-adjust:exact;-webkit-print-color-adjust:exact}\n"
    ".note{font-size:.82rem;line-height:1.45;color:var(--soft);margin:.5rem 0 0}\n";

static const char plots[] =
    ".grid{display:grid;gap:1.4rem 1.8rem;margin:1.6rem "
    "0}.g1{grid-template-columns:minmax(0,1fr)}\n"
    ".g2{grid-template-columns:repeat(2,minmax(0,1fr))}\n"
    ".g3{grid-template-columns:repeat(3,minmax(0,1fr))}.g4{grid-template-columns:repeat(4,minmax(0,"
    "1fr))}\n"
    "figure{margin:0;min-width:0}svg{display:block;width:100%;height:auto;font-size:12px;"
    "font-variant-numeric:tabular-nums}\n"
    "figcaption{font-size:.82rem;line-height:1.45;color:var(--soft);margin-top:.5rem;max-width:"
    "46rem}\n"
    "figcaption b{color:var(--ink);font-weight:600}figcaption b::before{counter-increment:figure;"
    "content:'Figure ' counter(figure) '. '}\n"
    "svg text{fill:var(--soft)}svg path{fill:none}svg .a,svg .s{fill:var(--ink)}\n"
    "svg .e{text-anchor:end}svg .c{text-anchor:middle}svg .p{font-size:9px}\n"
    "svg .g{stroke:var(--grid)}svg .t,svg .x{stroke:var(--soft)}svg .t{opacity:.55}\n"
    "svg .f{stroke:var(--soft);stroke-dasharray:5 4}svg .o{stroke:var(--ink);stroke-width:1.6}\n"
    "svg .q{fill:var(--ink);font-size:11px;paint-order:stroke;stroke:var(--bg);stroke-width:3px;"
    "stroke-linejoin:round}\n"
    ".k0{--k:var(--c0)}.k1{--k:var(--c1)}.k2{--k:var(--c2)}.k3{--k:var(--c3)}.k4{--k:var(--c4)}"
    ".k5{--k:var(--c5)}.k6{--k:var(--c6)}\n"
    "svg .l{stroke:var(--k);stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}\n"
    "svg .dash{stroke-dasharray:7 4}svg .dot{stroke-dasharray:1.5 4}\n"
    "svg .b{fill:var(--k);opacity:.18}svg .w{stroke:var(--k);stroke-width:1.3}\n"
    "svg .ink{stroke:var(--ink)}\n"
    "svg .m{fill:var(--k);stroke:var(--bg);stroke-width:.9;stroke-dasharray:none}\n"
    "svg .n{stroke:var(--k);stroke-width:1.8;stroke-dasharray:none}\n"
    "svg "
    ".d{stroke:var(--k);stroke-width:3;stroke-linecap:round;opacity:.55;stroke-dasharray:none}\n"
    "svg .r{fill:var(--k);stroke-dasharray:none}svg "
    ".h{fill:var(--k);fill-opacity:.22;stroke:var(--k);"
    "stroke-width:1.3;stroke-linejoin:round}\n"
    "svg .i{fill:var(--k);font-weight:600}svg g:hover>.m,svg .r:hover{stroke:var(--ink)}\n";

/* A box that is not checked hides the curve of its number, and dims its name. */
#define PICK(n)                                                                                    \
    ".q" #n ":not(:checked)~.scroll .q" #n "{display:none}"                                        \
    ".q" #n ":not(:checked)~.picks .q" #n "{opacity:.45}"                                          \
    ".q" #n ":focus-visible~.picks .q" #n "{outline:2px solid var(--link)}\n"
static const char picks[] =
    ".pick{position:absolute;opacity:0;width:1px;height:1px}\n"
    ".picks{font:.82rem/1.6 system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif;"
    "color:var(--soft);margin-top:.4rem}\n"
    ".picks label{display:inline-block;margin:.1rem .3rem;padding:0 .5rem;cursor:pointer;"
    "color:var(--ink);border:1px solid var(--rule);border-radius:4px}\n"
    ".picks label::before{content:'';display:inline-block;width:1.3rem;margin-right:.4rem;"
    "vertical-align:middle;border-top:3px solid var(--k)}\n"
    ".picks .dash::before{border-top-style:dashed}.picks .dot::before{border-top-style:dotted}\n";

static const char elsewhere[] =
    "@media(max-width:760px){body{font-size:16px}main{padding:1.4rem 1rem 2rem}h1{font-size:1.6rem}"
    ".g2,.g3,.g4{grid-template-columns:minmax(0,1fr)}dl{grid-template-columns:1fr;gap:0}"
    "dd{margin-bottom:.5rem}}\n"
    "@media print{@page{margin:18mm}body{font-size:10.5pt}main{max-width:none;padding:0}"
    "h2{break-after:avoid}figure,.table,dl,tr{break-inside:avoid}pre{white-space:pre-wrap}"
    "table{font-size:8.5pt}th,td{padding:.25rem "
    ".55rem}td.bar{min-width:5rem}a{color:inherit}.scroll{overflow:visible}svg{min-width:0!"
    "important}}\n";

const char *const reln_style[] = {
    colours,  body,     tables,   plots,    picks,    PICK(0),   PICK(1),  PICK(2),
    PICK(3),  PICK(4),  PICK(5),  PICK(6),  PICK(7),  PICK(8),   PICK(9),  PICK(10),
    PICK(11), PICK(12), PICK(13), PICK(14), PICK(15), PICK(16),  PICK(17), PICK(18),
    PICK(19), PICK(20), PICK(21), PICK(22), PICK(23), PICK(24),  PICK(25), PICK(26),
    PICK(27), PICK(28), PICK(29), PICK(30), PICK(31), elsewhere, NULL};
