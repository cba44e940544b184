// Helpers. Text of others only ever becomes textContent; nothing here parses HTML.
const $ = (id) => document.getElementById(id);

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ''));
  return element;
}

const isolated = (text) => make('bdi', {dir: 'auto'}, text);
const code = (text) => make('code', {}, make('bdi', {}, text));
const many = (n, one, more) => `${n.toLocaleString('en')} ${n === 1 ? one : more || one.replace(/y$/, 'ie') + 's'}`;
const fixed = (x) => (x === null ? '—' : x.toFixed(3).replace('-', '−'));
const signed = (x) => (x === null ? '—' : x === 0 ? '0.000' : (x > 0 ? '+' : '') + (Math.abs(x) < 0.0005 ? x.toPrecision(1) : x.toFixed(3)).replace('-', '−'));
const rankText = (rank) => (rank ? String(rank) : 'not found');
const mark = (delta) => (delta > 0 ? '▲' : delta < 0 ? '▼' : '');

const root = document.documentElement;
const toggle = $('theme');

function dark() {
  return (root.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
}

function nameToggle() {
  toggle.textContent = dark() ? '☀ Light' : '☾ Dark';
  toggle.setAttribute('aria-label', dark() ? 'Use light colours' : 'Use dark colours');
}

toggle.addEventListener('click', () => {
  root.dataset.theme = dark() ? 'light' : 'dark';
  try { localStorage.setItem('retrieval-gate-theme', root.dataset.theme); } catch { /* for this visit only, then */ }
  nameToggle();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', nameToggle);
nameToggle();

const block = $('data');
const data = block ? JSON.parse(block.textContent) : null;
const rows = data ? data.rows : null;
const KINDS = {
  lost: '▼ lost', worse: '▼ worse', same: '= same', better: '▲ better', gained: '▲ gained', missed: '✕ not found',
  found: '✓ found', 'not compared': '? not compared', failed: '! failed', unanswerable: '∅ unanswerable',
};
const kindOf = (row) => data.kinds[rows.kind[row]];
const SIDES = {lost: 'worse', worse: 'worse', missed: 'worse', better: 'better', gained: 'better', found: 'better'};
