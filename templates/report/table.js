// The table of queries: search, filters, order, pages. Only the rows of one page are ever in the document.
const PAGE = 50;
const view = {order: [], page: 0, key: '', down: false, kind: '', haystack: null};

const COLUMNS = {
  query: (row) => (rows.text[row] || rows.id[row]).toLowerCase(),
  before: (row) => rows.before[row] || Infinity, now: (row) => rows.now[row] || Infinity,
  old: (row) => rows.old[row], new: (row) => rows.new[row], delta: (row) => rows.delta[row], kind: (row) => rows.kind[row],
};

// `tag:x`, `is:lost`, `before:6-10`, `now:none`, `doc:x`, `pattern:1`, and words; quotation marks keep spaces together.
function terms(text) {
  const found = [];
  for (const [, field, quoted, bare] of text.matchAll(/(?:(tag|is|before|now|doc|pattern):)?(?:"([^"]*)"?|(\S+))/gi)) {
    const value = (quoted === undefined ? bare : quoted).toLowerCase();
    if (value) found.push([(field || '').toLowerCase(), value]);
  }
  return found;
}

function inRange(rank, value) {
  if (value === 'none') return rank === 0;
  const [first, last] = value.split('-').map(Number);
  return rank >= first && rank <= (last === undefined ? first : last);
}

function holds(row, documents) {
  const page = data.pages[row];
  return typeof page === 'object' && [page.b, page.c].some((side) => side && side.d.some((name) => documents.has(name)));
}

function test([field, value]) {
  if (field === 'tag') {
    const exact = new Set(data.tags.flatMap((tag, n) => (tag.toLowerCase() === value ? [n] : [])));
    return (row) => rows.tags[row].some((tag) => exact.has(tag));
  }
  if (field === 'is') return (row) => kindOf(row) === value;
  if (field === 'before' || field === 'now') return (row) => inRange(rows[field][row], value);
  if (field === 'doc') {
    const documents = new Set(data.names.flatMap((name, n) => (`${name} ${data.titles[n] || ''}`.toLowerCase().includes(value) ? [n] : [])));
    return (row) => holds(row, documents);
  }
  if (field === 'pattern') {
    const those = new Set((data.patterns[Number(value) - 1] || {rows: []}).rows);
    return (row) => those.has(row);
  }
  return (row) => view.haystack[row].includes(value);
}

function choose() {
  view.haystack ||= rows.id.map((id, row) => `${id} ${rows.text[row]} ${rows.tags[row].map((tag) => data.tags[tag]).join(' ')}`.toLowerCase());
  const tests = terms($('find').value).map(test);
  const found = [], counts = {};
  for (let row = 0; row < rows.id.length; row += 1) {
    if (tests.every((passes) => passes(row))) {
      const kind = kindOf(row);
      counts[kind] = (counts[kind] || 0) + 1;
      if (!view.kind || view.kind === kind) found.push(row);
    }
  }
  if (view.key) {
    const of = COLUMNS[view.key], sign = view.down ? -1 : 1;
    const keys = new Map(found.map((row) => [row, of(row)]));
    found.sort((a, b) => {
      const x = keys.get(a), y = keys.get(b);
      if (x === null || y === null) return (x === null) - (y === null) || a - b; // what has no value comes last either way
      return (x < y ? -sign : x > y ? sign : 0) || a - b;
    });
  }
  view.order = found;
  for (const button of $('kinds').children) {
    const kind = button.dataset.kind, count = kind ? counts[kind] || 0 : Object.values(counts).reduce((a, b) => a + b, 0);
    button.lastChild.textContent = count.toLocaleString('en');
    button.setAttribute('aria-pressed', String(kind === view.kind));
  }
}

function cells(row) {
  const delta = rows.delta[row], side = SIDES[kindOf(row)] || '';
  const link = make('a', {href: `#q=${encodeURIComponent(rows.id[row])}`, class: 'open'}, isolated(rows.text[row] || rows.id[row]));
  const query = make('td', {class: 'query'}, link, make('div', {class: 'under'}, rows.text[row] ? code(rows.id[row]) : null,
    rows.tags[row].map((tag) => make('span', {class: 'tag'}, isolated(data.tags[tag])))));
  const ranked = !['failed', 'unanswerable'].includes(kindOf(row));
  const numbers = data.compared ? [
    make('td', {class: 'num'}, ranked ? rankText(rows.before[row]) : '—'), make('td', {class: 'num'}, ranked ? rankText(rows.now[row]) : '—'),
    make('td', {class: 'num wide'}, fixed(rows.old[row])), make('td', {class: 'num wide'}, fixed(rows.new[row])),
    make('td', {class: `num ${delta ? side || (delta > 0 ? 'better' : 'worse') : ''}`}, delta === null ? '—' : `${mark(delta)} ${signed(delta)}`.trim()),
  ] : [make('td', {class: 'num'}, ranked ? rankText(rows.now[row]) : '—'), make('td', {class: 'num'}, fixed(rows.new[row]))];
  return make('tr', {}, query, numbers, make('td', {class: `kind ${side}`}, KINDS[kindOf(row)]));
}

function draw() {
  const pages = Math.max(1, Math.ceil(view.order.length / PAGE));
  view.page = Math.min(Math.max(view.page, 0), pages - 1);
  const first = view.page * PAGE, shown = view.order.slice(first, first + PAGE);
  $('rows').replaceChildren(...shown.map(cells));
  $('none').hidden = shown.length > 0;
  $('count').textContent = shown.length
    ? `${(first + 1).toLocaleString('en')} to ${(first + shown.length).toLocaleString('en')} of ${many(view.order.length, 'query')}` : 'No query';
  $('previous').disabled = view.page === 0;
  $('next').disabled = view.page >= pages - 1;
  for (const button of document.querySelectorAll('#queries th button')) {
    const mine = button.dataset.key === view.key;
    button.closest('th').setAttribute('aria-sort', mine ? (view.down ? 'descending' : 'ascending') : 'none');
  }
}

function refresh() {
  view.page = 0;
  choose();
  draw();
}

function startTable() {
  $('find').addEventListener('input', refresh);
  $('kinds').append(...['', ...data.kinds].map((kind) => {
    const button = make('button', {type: 'button', 'aria-pressed': 'false', class: SIDES[kind] || ''},
      kind ? KINDS[kind] : 'all', ' ', make('span', {class: 'n'}, ''));
    button.dataset.kind = kind;
    button.addEventListener('click', () => { view.kind = kind; refresh(); });
    return button;
  }));
  for (const button of document.querySelectorAll('#queries th button')) {
    button.addEventListener('click', () => {
      // Up, down, then the order of the report.
      const key = button.dataset.key;
      if (view.key !== key) { view.key = key; view.down = false; } else if (!view.down) { view.down = true; } else { view.key = ''; view.down = false; }
      refresh();
    });
  }
  const turn = (by) => { view.page += by; draw(); $('count').scrollIntoView({block: 'nearest'}); };
  $('previous').addEventListener('click', () => turn(-1));
  $('next').addEventListener('click', () => turn(1));
  $('rows').addEventListener('keydown', (event) => {
    const links = [...$('rows').querySelectorAll('a.open')], at = links.indexOf(document.activeElement);
    const to = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1}[event.key];
    if (at < 0 || to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (to < 0) $('find').focus();
    else if (to < links.length) links[to].focus();
    else if (!$('next').disabled) { turn(1); $('rows').querySelector('a.open').focus(); }
  });
  $('find').addEventListener('keydown', (event) => {
    const first = $('rows').querySelector('a.open');
    if (event.key === 'ArrowDown' && first) { event.preventDefault(); first.focus(); }
    if (event.key === 'Escape' && $('find').value) { event.preventDefault(); $('find').value = ''; refresh(); }
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && !event.target.closest('input, dialog') && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      $('find').focus();
    }
  });
  refresh();
}
