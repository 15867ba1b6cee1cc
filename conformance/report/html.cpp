// report.html: one page with all that the journal says, for a browser without a network. Counts are summed here, and
// only failures keep their names, so that a hundred thousand cases stay below 2 MB.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "inputs/problem.hpp"
#include "inputs/values.hpp"
#include "report/files.hpp"
#include "report/report.hpp"

namespace bp::conform {

// ---- The fixed parts of the page

const char* const page_style = R"css(
:root { color-scheme: light dark; --ink: #1f2328; --faint: #59636e; --line: #d1d9e0; --paper: #fff; --band: #f6f8fa;
  --native: #2da44e; --correct: #d4a72c; --failed: #cf222e; --none: #afb8c1; --link: #0969da; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --faint: #9198a1; --line: #3d444d; --paper: #0d1117;
  --band: #161b22; --native: #3fb950; --correct: #d29922; --failed: #f85149; --none: #484f58; --link: #4493f8; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1280px; padding: 16px; background: var(--paper); color: var(--ink);
  font: 14px/1.45 system-ui, "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 22px; margin: 0 0 4px; } h2 { font-size: 17px; margin: 28px 0 8px; }
p { margin: 4px 0; } .faint { color: var(--faint); } code { font: 12px ui-monospace, "DejaVu Sans Mono", monospace; }
.figures { display: flex; flex-wrap: wrap; gap: 12px; margin: 14px 0; }
.figure { flex: 1 1 150px; border: 1px solid var(--line); border-left-width: 6px; border-radius: 6px; padding: 8px 12px; }
.figure b { display: block; font-size: 22px; } .figure span { color: var(--faint); }
.is-native { border-left-color: var(--native); } .is-correct { border-left-color: var(--correct); }
.is-failed { border-left-color: var(--failed); } .is-none { border-left-color: var(--none); }
.wide { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 8px; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
th { position: sticky; top: 0; background: var(--band); font-weight: 600; white-space: nowrap; }
td.number, th.number { text-align: right; }
form { display: flex; flex-wrap: wrap; gap: 8px; margin: 8px 0; }
input, select, button { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--line);
  border-radius: 6px; padding: 4px 8px; max-width: 100%; }
#map { max-height: 75vh; overflow: auto; border: 1px solid var(--line); border-radius: 6px; }
#map table { border-collapse: separate; border-spacing: 0; }
#map th { z-index: 1; } #map th:first-child, #map td:first-child { position: sticky; left: 0; background: var(--band); }
#map th:first-child { z-index: 2; }
#map td:first-child { font: 12px ui-monospace, "DejaVu Sans Mono", monospace; white-space: nowrap; }
#map td.cell { cursor: pointer; min-width: 48px; font-size: 12px; white-space: nowrap; border-left: 1px solid var(--line); }
#map td.cell i { display: block; height: 6px; border-radius: 2px; margin-top: 2px; }
#map td.bad { color: var(--failed); font-weight: 600; }
.legend span { display: inline-block; margin-right: 14px; }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 4px; }
#detail { border: 1px solid var(--line); border-radius: 6px; padding: 8px 12px; margin-top: 8px; }
#detail:empty { display: none; }
@media (max-width: 600px) { #map td:first-child { max-width: 40vw; white-space: normal; } body { padding: 10px; } h1 { font-size: 18px; } th, td { padding: 2px 5px; } }
)css";

const char* const page_body = R"html(
<header id="head"></header>
<section id="map-section"><h2>Operators, dtypes, layouts</h2>
<form id="filters"><input id="by-op" type="search" placeholder="operator" aria-label="operator" size="14">
<select id="by-dtype" aria-label="dtype"></select><select id="by-layout" aria-label="layout"></select>
<select id="by-lane" aria-label="lane"><option value="">both lanes</option><option value="0">direct</option><option value="1">core</option></select>
<select id="by-state" aria-label="state"><option value="">every result</option><option value="failed">failed</option>
<option value="host">correct, not native</option><option value="none">unsupported</option></select>
<button type="reset">All</button></form>
<p class="legend faint"><span><i style="background:var(--native)"></i>native</span><span><i style="background:var(--correct)"></i>correct, on the host</span>
<span><i style="background:var(--failed)"></i>failed</span><span><i style="background:var(--none)"></i>unsupported</span>
<span>native / all cases; the bar has a piece for each layout</span></p>
<div id="map"></div><div id="detail"></div></section>
<section><h2>Failures</h2><div id="failures" class="wide"></div></section>
<section><h2>Flaky</h2><div id="flaky" class="wide"></div></section>
<section><h2>Waivers</h2><div id="waivers" class="wide"></div></section>
<section><h2>Accuracy</h2><p class="faint">The largest errors seen, in units of the dtype's last place and as a share of the bound.</p>
<div id="accuracy" class="wide"></div></section>
<section><h2>Gaps</h2><p class="faint">Rows that are not native in every case, and why.</p><div id="gaps" class="wide"></div></section>
<section><h2>Slowest</h2><div id="slowest" class="wide"></div></section>
<footer class="faint" id="foot"></footer>
)html";

const char* const page_script = R"js(
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const at = id => document.getElementById(id);
function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined && text !== null) made.textContent = text;
  if (className) made.className = className;
  return made;
}
function percent(part, all) { return all ? (part === all ? '100' : (Math.floor(1000 * part / all) / 10).toFixed(1)) + ' %' : '–'; }
function short(number) { return Number.isInteger(number) && number < 1e15 ? String(number) : number >= 1e299 ? '∞' : Number(number.toPrecision(3)).toString(); }

function table(to, head, rows, none) {
  to.replaceChildren();
  if (!rows.length) { to.append(element('p', none, 'faint')); return; }
  const made = element('table'), line = element('tr');
  for (const name of head) line.append(element('th', name));
  made.append(element('thead'), element('tbody'));
  made.tHead.append(line);
  for (const row of rows) {
    const tr = element('tr');
    for (const cell of row) {
      const td = element('td');
      if (cell && cell.code !== undefined) td.append(element('code', cell.code));
      else if (typeof cell === 'number') { td.textContent = short(cell); td.className = 'number'; }
      else td.textContent = cell;
      tr.append(td);
    }
    made.tBodies[0].append(tr);
  }
  to.append(made);
}

function figure(title, value, note, kind) {
  const box = element('div', null, 'figure is-' + kind);
  box.append(element('span', title), element('b', value), element('span', note));
  return box;
}
function showHead() {
  const head = at('head'), all = data.total;
  head.append(element('h1', data.device + ': ' + data.profile));
  head.append(element('p', data.verdict + ' ' + data.about, 'faint'));
  const boxes = element('div', null, 'figures');
  boxes.append(figure('correct', percent(all.correct, all.run), data.correct, all.failed ? 'failed' : 'correct'));
  boxes.append(figure('native', percent(all.native, all.run), data.native, 'native'));
  boxes.append(figure('failed', all.failed, 'of ' + all.run + ' cases', all.failed ? 'failed' : 'native'));
  boxes.append(figure('unsupported', all.unsupported, 'said so, as a plugin may', 'none'));
  boxes.append(figure('waivers', data.waivers.length, all.waived + ' cases waived' + (data.problems.length ? '; ' + data.problems.length + ' bad' : ''),
    data.problems.length ? 'failed' : 'none'));
  head.append(boxes);
  for (const problem of data.problems) head.append(element('p', problem));
  const levels = element('div', null, 'wide');
  table(levels, ['level', 'cases', 'correct', 'native', 'failed', 'waived', 'unsupported'], data.levels, '');
  head.append(levels);
}

// [op, dtype, layout, lane, run, correct, native, failed, unsupported]
function wanted(entry) {
  const op = at('by-op').value.trim().toLowerCase(), state = at('by-state').value;
  const is = (id, value) => at(id).value === '' || at(id).value === String(value);
  return (!op || entry[0].includes(op)) && is('by-dtype', entry[1]) && is('by-layout', entry[2]) && is('by-lane', entry[3]) &&
    (!state || (state === 'failed' ? entry[7] : state === 'host' ? entry[5] > entry[6] : entry[8]));
}
function colour(sums) {
  return sums[3] ? 'var(--failed)' : sums[1] > sums[2] ? 'var(--correct)' : sums[4] && !sums[2] ? 'var(--none)' : 'var(--native)';
}
function add(sums, entry) { for (let i = 0; i < 5; ++i) sums[i] += entry[4 + i]; return sums; }

function fillCell(td, entries, op, dtype) {
  const all = entries.reduce(add, [0, 0, 0, 0, 0]), layouts = new Map();
  for (const entry of entries) layouts.set(entry[2], add(layouts.get(entry[2]) || [0, 0, 0, 0, 0], entry));
  td.textContent = all[3] ? '✕ ' + all[3] + ' / ' + all[0] : all[2] + ' / ' + all[0];
  td.className = all[3] ? 'cell bad' : 'cell';
  const bar = element('i'), width = 100 / layouts.size, stops = [];
  [...layouts.entries()].sort((a, b) => a[0] - b[0]).forEach(([, sums], i) =>
    stops.push(colour(sums) + ' ' + i * width + '% ' + (i + 1) * width + '%'));
  bar.style.background = 'linear-gradient(90deg,' + stops.join(',') + ')';
  td.append(bar);
  td.addEventListener('click', () => showDetail(op, dtype, layouts));
}
function showDetail(op, dtype, layouts) {
  const to = at('detail'), rows = [];
  for (const [layout, sums] of layouts) rows.push([data.layouts[layout], ...sums]);
  table(to, ['layout', 'cases', 'correct', 'native', 'failed', 'unsupported'], rows, '');
  to.prepend(element('p', op + '[' + data.dtypes[dtype] + ']'));
  const bad = data.failures.filter(f => f[0].split(':')[1].startsWith(op + '[' + data.dtypes[dtype] + ']')).slice(0, 20);
  for (const failure of bad) { const p = element('p'); p.append(element('code', failure[0]), ' ' + failure[2]); to.append(p); }
}
function showMap() {
  const rows = new Map(), dtypes = new Set();
  for (const entry of data.map) if (wanted(entry)) {
    dtypes.add(entry[1]);
    if (!rows.has(entry[0])) rows.set(entry[0], new Map());
    const row = rows.get(entry[0]);
    if (!row.has(entry[1])) row.set(entry[1], []);
    row.get(entry[1]).push(entry);
  }
  const columns = [...dtypes].sort((a, b) => a - b), made = element('table'), line = element('tr');
  line.append(element('th', rows.size + ' operators'));
  for (const dtype of columns) line.append(element('th', data.dtypes[dtype]));
  made.append(element('thead'), element('tbody'));
  made.tHead.append(line);
  for (const [op, row] of rows) {
    const tr = element('tr');
    tr.append(element('td', op));
    for (const dtype of columns) {
      const td = element('td');
      if (row.has(dtype)) fillCell(td, row.get(dtype), op, dtype);
      tr.append(td);
    }
    made.tBodies[0].append(tr);
  }
  at('map').replaceChildren(rows.size ? made : element('p', 'Nothing matches these filters.', 'faint'));
  at('detail').replaceChildren();
}
function option(select, text, value) { const made = element('option', text); made.value = value; select.append(made); }
function start() {
  showHead();
  option(at('by-dtype'), 'every dtype', '');
  data.dtypes.forEach((dtype, i) => { if (data.map.some(entry => entry[1] === i)) option(at('by-dtype'), dtype, i); });
  option(at('by-layout'), 'every layout', '');
  data.layouts.forEach((layout, i) => option(at('by-layout'), layout, i));
  at('filters').addEventListener('input', showMap);
  at('filters').addEventListener('reset', () => setTimeout(showMap));
  at('filters').addEventListener('submit', event => event.preventDefault());
  showMap();
  table(at('failures'), ['case', 'outcome', 'why', 'again'], data.failures.map(f => [{code: f[0]}, f[1], f[2], {code: f[3]}]), 'None.');
  if (data.more_failures) at('failures').append(element('p', data.more_failures + ' more are in the journal.'));
  table(at('flaky'), ['case', 'why'], data.flaky.map(f => [{code: f[0]}, f[1]]), 'None.');
  table(at('waivers'), ['pattern', 'kind', 'reason', 'address', 'expires', 'cases'], data.waivers.map(w => [{code: w[0]}, ...w.slice(1)]), 'None.');
  table(at('accuracy'), ['operator', 'dtype', 'ulp', 'share of bound', 'rule'], data.accuracy, 'Nothing was measured.');
  table(at('gaps'), ['operator', 'dtypes', 'cases', 'why'], data.gaps, 'None: every row is native.');
  table(at('slowest'), ['case', 'ms'], data.slowest.map(s => [{code: s[0]}, s[1]]), 'None.');
  at('foot').textContent = data.foot;
}
start();
)js";

// ---- What it says

namespace {

constexpr std::size_t most_failures = 1500, most_slow = 25, longest_why = 400;

std::string cut(const std::string& text) {
  return text.size() <= longest_why ? text : text.substr(0, longest_why) + " ...";
}

// For what is special about it, a case is not called plain.
std::vector<std::string> layouts_of(const Record& record) {
  std::vector<std::string> parts = split_text(record.one.layouts, '.');
  std::erase_if(parts, [](const std::string& part) { return part.empty() || part == "plain"; });
  if (parts.empty()) parts.emplace_back("plain");
  return parts;
}

// Operator x dtype x layout x lane, summed. A case counts once, with its first layout.
void add_map(const Run& run, Json& page) {
  std::set<std::string> layouts;
  std::map<std::tuple<std::string, unsigned, std::string, int>, Count> cells;
  for (const Record& record : run.records) {
    const Case& one = record.one;
    if (one.lane == Lane::probe) continue;
    const std::vector<std::string> own = layouts_of(record);
    layouts.insert(own.begin(), own.end());
    cells[{one.op, index(one.dtype), own[0], one.lane == Lane::core}].add(record);
  }
  Json& map = page["map"] = Json::array();
  for (const auto& [key, count] : cells) {
    const auto& [op, dtype, layout, lane] = key;
    map.push_back({op, dtype, std::distance(layouts.begin(), layouts.find(layout)), lane, count.run,
                   count.correct, count.native, count.failed, count.unsupported});
  }
  page["layouts"] = layouts;
  for (unsigned i = 0; i < num_dtypes; ++i)
    page["dtypes"].push_back(short_name(static_cast<Dtype>(i)));
}

void add_failures(const Run& run, const std::vector<Waiver>& waivers, Json& page) {
  Json failures = Json::array(), flaky = Json::array();
  std::size_t more = 0;
  for (const Record& record : run.records) {
    if (!is_failure(record)) continue;
    const std::string waived = is_waived(record, waivers) ? " (waived)" : "";
    if (record.verdict.outcome == Outcome::flaky && flaky.size() < most_failures)
      flaky.push_back({record.name, cut(record.verdict.why)});
    if (failures.size() < most_failures)
      failures.push_back({record.name, name(record.verdict.outcome) + waived,
                          cut(record.verdict.why), repeating_command(record.name, run.header)});
    else
      ++more;
  }
  page["failures"] = failures;
  page["flaky"] = flaky;
  page["more_failures"] = more;
}

void add_accuracy(const Run& run, Json& page) {
  struct Worst {
    double ulp = 0, share = 0;
    std::string rule;
  };
  std::map<std::pair<std::string, unsigned>, Worst> rows;
  for (const Record& record : run.records) {
    const Verdict& verdict = record.verdict;
    if (record.one.lane == Lane::probe || (verdict.worst_ulp == 0 && verdict.worst_share == 0))
      continue;
    Worst& worst = rows[{record.one.op, index(record.one.dtype)}];
    worst.ulp = std::max(worst.ulp, verdict.worst_ulp);
    if (verdict.worst_share < worst.share && !worst.rule.empty()) continue;
    worst.share = verdict.worst_share;
    worst.rule = verdict.rule;
  }
  Json& list = page["accuracy"] = Json::array();
  for (const auto& [key, worst] : rows)
    list.push_back({key.first, short_name(static_cast<Dtype>(key.second)), worst.ulp, worst.share,
                    cut(worst.rule)});
}

void add_gaps(const Run& run, Json& page) {
  Json& list = page["gaps"] = Json::array();
  for (const auto& [op, gap] : gaps_of(run, /*counts_excused=*/true))
    if (const Count& missing = gap.missing; missing.run != 0)
      list.push_back({op, fmt::format("{}", fmt::join(gap.dtypes, ", ")), missing.run,
                      fmt::format("{} on the host, {} unsupported, {} failed", missing.correct,
                                  missing.unsupported, missing.failed)});
}

void add_slowest(const Run& run, Json& page) {
  std::vector<const Record*> records;
  for (const Record& record : run.records) records.push_back(&record);
  const std::size_t count = std::min(most_slow, records.size());
  std::partial_sort(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(count),
                    records.end(), [](const Record* a, const Record* b) { return a->ms > b->ms; });
  Json& list = page["slowest"] = Json::array();
  for (std::size_t i = 0; i < count; ++i) list.push_back({records[i]->name, records[i]->ms});
}

void add_head(const Run& run, const Summary& summary, const std::vector<Waiver>& waivers,
              Json& page) {
  const Subject& subject = run.subject;
  const Json& selection = run.header.at("selection");
  page["device"] = subject.device;
  page["profile"] = summary.profile;
  page["verdict"] = !run.ended || run.interrupted ? "Interrupted."
                    : summary.ok                  ? "Nothing failed."
                                                  : "Failed.";
  page["about"] = fmt::format(
      "{} {} {}, {}; profile {}, seed {}{}", subject.vendor, subject.backend, subject.version,
      unit_text(subject), selection.value("profile", ""), selection.value("seed", 0ull),
      summary.excused.empty() ? ""
                              : fmt::format("; excused: {}", fmt::join(summary.excused, ", ")));
  page["correct"] = standing_text(run, summary.total.correct, summary.correct);
  page["native"] = standing_text(run, summary.total.native, summary.native);
  page["total"] = summary.total;
  page["problems"] = summary.waiver_problems;
  page["levels"] = Json::array();
  for (const auto& [level, c] : shown_levels(run, summary))
    page["levels"].push_back(
        {level, c.run, c.correct, c.native, c.failed, c.waived, c.unsupported});
  page["waivers"] = Json::array();
  for (const Waiver& waiver : waivers)
    page["waivers"].push_back({waiver.pattern, waiver.kind, waiver.reason, waiver.address,
                               waiver.expires, waiver.matched});
  page["foot"] =
      fmt::format("{}; library {} sha256 {}; must-run list {}; {} on {}; {}",
                  run.header.value("tool", ""), subject.library, subject.library_sha256,
                  run.header.value("digest", ""), utc_time(run.header.value("started", 0L)),
                  run.header.value("host", Json::object()).value("processor", ""),
                  fmt::format("{} cases in {:.1f} s", summary.total.run, run.seconds));
}

}  // namespace

void write_html(const Run& run, const Summary& summary, const std::vector<Waiver>& waivers,
                const std::string& path) {
  Json page;
  add_head(run, summary, waivers, page);
  add_map(run, page);
  add_failures(run, waivers, page);
  add_accuracy(run, page);
  add_gaps(run, page);
  add_slowest(run, page);
  std::string data = page.dump(-1, ' ', false, Json::error_handler_t::replace);
  // Nothing in it may end the script.
  for (std::size_t at = 0; (at = data.find("</", at)) != std::string::npos; at += 3)
    data.insert(at + 1, "\\");
  write_whole_file(
      path, fmt::format("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
                        "<link rel=\"icon\" href=\"data:,\"><title>{}: "
                        "{}</title>\n<style>{}</style></head>\n<body>{}"
                        "<script type=\"application/json\" "
                        "id=\"data\">{}</script>\n<script>{}</script></body></html>\n",
                        escape_markup(run.subject.device), escape_markup(summary.profile),
                        page_style, page_body, data, page_script));
}

}  // namespace bp::conform
