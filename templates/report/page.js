// A query's page. Its address is #q=ID; the back button closes it, as Escape does.
const dialog = $('page');
let shownRow = -1;
let cameFromHere = false;

const nameOf = (number) => data.names[number];
const titleOf = (number) => data.titles[number] || '';

function labelled(number) {
  const title = titleOf(number);
  return [title ? isolated(title) : null, title ? ' ' : null, code(nameOf(number))];
}

function wordsOf(text) {
  return [...new Set(text.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}_-]*/gu) || [])].filter((word) => word.length > 2).slice(0, 16);
}

// The window of a text in which most words of the query stand, as [start, end] in characters.
function windowOf(text, words, size) {
  if (text.length <= size * 1.3) return [0, text.length];
  const lower = text.toLowerCase(), hits = [];
  if (lower.length === text.length) {
    for (const word of words) for (let at = lower.indexOf(word); at >= 0 && hits.length < 200; at = lower.indexOf(word, at + 1)) hits.push([at, word]);
  }
  let best = 0, most = 0;
  for (const [at] of hits) {
    const start = Math.max(0, at - 40), inside = new Set(hits.filter(([x]) => x >= start && x < start + size).map(([, word]) => word)).size;
    if (inside > most) { most = inside; best = start; }
  }
  while (best > 0 && !/\s/.test(text[best - 1])) best -= 1;
  let end = Math.min(text.length, best + size);
  for (let n = 0; n < 20 && end < text.length && !/\s/.test(text[end]); n += 1) end -= 1;
  return [best, end];
}

function marked(text, words) {
  const pieces = [];
  if (!words.length) return [text];
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')})`, 'giu');
  let last = 0;
  for (const found of text.matchAll(pattern)) {
    pieces.push(text.slice(last, found.index), make('mark', {}, found[0]));
    last = found.index + found[0].length;
  }
  return [...pieces, text.slice(last)];
}

function excerpt(text, words, answer) {
  if (answer) {
    const [from, to] = answer, start = Math.max(0, from - 100), end = Math.min(text.length, to + 100);
    return make('p', {class: 'excerpt', dir: 'auto'}, start ? '… ' : '', marked(text.slice(start, from), words),
      make('mark', {class: 'answer', title: 'the span that answers'}, text.slice(from, to)), marked(text.slice(to, end), words), end < text.length ? ' …' : '');
  }
  const [start, end] = windowOf(text, words, 230);
  return make('p', {class: 'excerpt', dir: 'auto'}, start ? '… ' : '', marked(text.slice(start, end), words), end < text.length ? ' …' : '');
}

// The span of the golden set that lies in this result's text, in its own characters.
function answerIn(page, doc, chunk, text) {
  for (const gold of page.gold) {
    if (gold.length > 7 && gold[0] === doc) {
      const from = gold[7] - (chunk && chunk[1] || 0), to = gold[8] - (chunk && chunk[1] || 0);
      if (from >= 0 && to <= text.length && from < to) return [from, to];
    }
  }
  return null;
}

function moved(rank, other, forward) {
  if (other === undefined || rank === other) return null;
  if (!other) return make('span', {class: `moved ${forward ? 'worse' : 'fresh'}`}, forward ? 'gone' : 'new');
  const up = forward ? other < rank : rank < other;
  return make('span', {class: `moved ${up ? 'better' : 'worse'}`}, `${up ? '▲' : '▼'} ${forward ? 'now' : 'was'} ${other}`);
}

function result(page, side, n, words, forward) {
  const doc = side.d[n], rank = side.r ? side.r[n] : n + 1, chunk = side.k && side.k[n];
  const grade = new Map(side.g || []).get(n), relevant = grade !== undefined && grade > 0;
  const part = chunk && chunk[0] >= 0 ? chunk[0] : null;
  const text = data.texts[part] || data.texts[doc];
  const title = titleOf(part === null ? doc : part) || titleOf(doc), name = isolated(title || nameOf(doc));
  const meta = [
    title ? code(nameOf(doc)) : null,
    part !== null && nameOf(part) !== nameOf(doc) ? make('span', {}, 'chunk ', code(nameOf(part))) : null,
    chunk && chunk.length > 1 ? make('span', {}, `characters ${chunk[1].toLocaleString('en')} to ${chunk[2].toLocaleString('en')}`) : null,
    side.s ? make('span', {}, `score ${side.s[n]}`.replace('-', '−')) : null,
  ].filter(Boolean);
  return make('li', {class: `result${relevant ? ' relevant' : ''}${data.k && rank > data.k ? ' below' : ''}`},
    make('span', {class: 'rank'}, String(rank)),
    make('div', {},
      make('div', {class: 'head'}, relevant ? make('span', {class: 'hit'}, grade === 1 ? '✓ relevant' : `✓ grade ${grade}`) : null,
        grade !== undefined && !relevant ? make('span', {class: 'judged'}, 'judged, worth nothing') : null, ' ',
        title ? make('strong', {}, name) : make('code', {}, name), ' ', moved(rank, side.o && side.o[n], forward)),
      meta.length ? make('div', {class: 'under'}, meta) : null,
      text ? excerpt(text, words, relevant ? answerIn(page, doc, chunk, text) : null) : null));
}

function ranking(page, side, title, words, forward) {
  const items = [];
  side.d.forEach((_, n) => {
    const rank = side.r ? side.r[n] : n + 1, last = n ? (side.r ? side.r[n - 1] : n) : 0;
    if (data.k && last && last <= data.k && rank > data.k) items.push(make('li', {class: 'cut'}, `the top ${data.k} ends here`));
    if (n && rank > last + 1) items.push(make('li', {class: 'cut'}, `${many(rank - last - 1, 'result')} not shown`));
    items.push(result(page, side, n, words, forward));
  });
  if (!items.length) items.push(make('li', {class: 'cut'}, 'no results'));
  const more = side.n - side.d.length;
  return make('section', {class: 'side'}, make('h3', {}, title), make('ol', {}, items),
    more > 0 ? make('p', {class: 'soft'}, `${many(more, 'more result')} below; the run file has them.`) : null);
}

function goldTable(page) {
  if (!page.gold.length) return null;
  const staged = page.gold.some((gold) => gold[4] >= 0 || gold[5] >= 0), both = page.b || page.same;
  const stage = (rank) => (rank < 0 ? '—' : rank ? String(rank) : 'no');
  const head = ['relevant', 'grade', both ? 'baseline' : null, data.side, staged && both ? 'candidate stage, baseline' : null,
    staged ? `candidate stage, ${data.side}` : null].filter(Boolean);
  const body = page.gold.map((gold) => {
    const before = page.same ? gold[3] : gold[2], now = gold[3], change = (before || Infinity) - (now || Infinity);
    const side = both && change ? (change > 0 ? 'better' : 'worse') : '';
    return make('tr', {}, make('td', {}, titleOf(gold[0]) ? [isolated(titleOf(gold[0])), make('div', {class: 'under'}, code(nameOf(gold[0])))] : code(nameOf(gold[0])), gold[6] > 1 ? make('span', {class: 'soft'}, ` or ${many(gold[6] - 1, 'document')} that answers alike`.replace('documents that answers', 'documents that answer')) : null,
      gold.length > 7 ? make('span', {class: 'soft'}, ` characters ${gold[7].toLocaleString('en')} to ${gold[8].toLocaleString('en')}`) : null),
    make('td', {class: 'num'}, String(gold[1])), both ? make('td', {class: 'num'}, rankText(before)) : null,
    make('td', {class: `num ${side}`}, `${side ? mark(change) + ' ' : ''}${rankText(now)}`),
    staged && both ? make('td', {class: 'num'}, stage(page.same ? gold[5] : gold[4])) : null, staged ? make('td', {class: 'num'}, stage(gold[5])) : null);
  });
  return [make('div', {class: 'scroll', role: 'region', tabindex: '0', 'aria-label': 'Relevant documents'}, make('table', {class: 'gold'},
    make('thead', {}, make('tr', {}, head.map((name, n) => make('th', {class: n ? 'num' : ''}, name)))), make('tbody', {}, body))),
  page.more ? make('p', {class: 'soft'}, `${many(page.more, 'more relevant document')}.`) : null];
}

function story(row, page) {
  const found = [...((page && page.why) || []), ...(data.remarks[row] || [])], kind = kindOf(row), before = rows.before[row];
  if (kind === 'lost' && page && page.c) {
    const at = page.c.r ? page.c.r.indexOf(before) : before - 1, doc = at >= 0 ? page.c.d[at] : undefined;
    if (doc !== undefined) found.unshift(make('span', {}, `At rank ${before}, where the first relevant document was, now stands `, labelled(doc), '.'));
    else if (!page.c.d.length) found.unshift('The retriever returns nothing for it any more.');
    else found.unshift(`Only ${many(page.c.n, 'result')} came back.`);
  }
  if (page && page.same && data.compared) found.push('Both rankings are the same.');
  const shared = data.patterns.flatMap((pattern, n) => (pattern.rows.includes(row) ? [[pattern, n + 1]] : [])).slice(0, 3);
  return [...found.map((line) => make('p', {}, line)), shared.length ? make('ul', {class: 'patterns soft'}, shared.map(([pattern, n]) =>
    make('li', {}, pattern.seen, ' ', make('a', {href: `#find=pattern:${n}`}, 'See them')))) : null];
}

function fill(row) {
  const page = typeof data.pages[row] === 'object' ? data.pages[row] : null, blind = data.pages[row] === 2;
  const kind = kindOf(row), side = SIDES[kind] || '', at = view.order.indexOf(row), text = rows.text[row];
  const words = wordsOf(text), delta = rows.delta[row];
  $('page-title').replaceChildren(isolated(text || rows.id[row]));
  $('page-place').textContent = at < 0 ? '' : `${(at + 1).toLocaleString('en')} of ${view.order.length.toLocaleString('en')}`;
  $('page-previous').disabled = at <= 0;
  $('page-next').disabled = at < 0 || at >= view.order.length - 1;
  const figures = [make('span', {class: `kind ${side}`}, KINDS[kind])];
  if (!['failed', 'unanswerable'].includes(kind)) {
    figures.push(make('span', {}, 'first relevant at ', make('strong', {}, data.compared ? `${rankText(rows.before[row])} → ${rankText(rows.now[row])}` : rankText(rows.now[row]))));
    figures.push(make('span', {}, `${data.metric} `, make('strong', {}, data.compared ? `${fixed(rows.old[row])} → ${fixed(rows.new[row])}` : fixed(rows.new[row])),
      delta ? make('span', {class: side || (delta > 0 ? 'better' : 'worse')}, ` ${mark(delta)} ${signed(delta)}`) : null));
  }
  const body = [make('div', {class: 'under'}, text ? code(rows.id[row]) : null, rows.tags[row].map((tag) =>
    make('a', {class: 'tag', href: `#find=${encodeURIComponent(`tag:"${data.tags[tag]}"`)}`}, isolated(data.tags[tag])))),
  make('p', {class: 'figures'}, figures), story(row, page)];
  if (blind) body.push(make('p', {class: 'soft'}, 'A blind query: its text, its documents and both rankings are shown nowhere, so that nobody tunes on them.'));
  else if (!page) body.push(make('p', {class: 'soft'}, 'This file does not hold the rankings of this query: there are too many queries. The run file has them.'));
  else {
    body.push(goldTable(page));
    const sides = page.same ? [ranking(page, page.c, data.compared ? `Baseline and ${data.side}` : data.side, words, false)] : [
      page.b ? ranking(page, page.b, 'Baseline', words, true) : null, page.c ? ranking(page, page.c, page.b ? `Now: ${data.side}` : data.side, words, false) : null];
    body.push(make('div', {class: `sides${sides.filter(Boolean).length > 1 ? ' two' : ''}`}, sides));
    if (page.why) {
      // What is copied into a shell must not be able to be more than a name.
      const name = /^\w[\w.:-]*$/.test(rows.id[row]) ? rows.id[row] : 'QUERY_ID';
      body.push(make('p', {class: 'soft'}, 'What the frozen index says of its words and vectors:'),
        make('pre', {tabindex: '0'}, data.explain.map((line) => line.replace(' QUERY_ID ', ` ${name} `)).join('\n')));
    }
    if (data.unread) body.push(make('p', {class: 'soft'}, data.unread));
  }
  $('page-body').replaceChildren(...body.flat(2).filter(Boolean));
  dialog.scrollTop = 0;
}

function show(row) {
  shownRow = row;
  fill(row);
  if (!dialog.open) dialog.showModal();
  $('page-title').focus();
}

function step(by) {
  const to = view.order[view.order.indexOf(shownRow) + by];
  if (to !== undefined) location.replace(`#q=${encodeURIComponent(rows.id[to])}`);
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

function route(event) {
  const [, what, value] = location.hash.match(/^#(q|find)=(.*)$/s) || [];
  const row = what === 'q' ? rows.id.indexOf(decoded(value)) : -1;
  if (row >= 0) {
    if (!dialog.open) cameFromHere = Boolean(event);
    show(row);
    return;
  }
  if (dialog.open) dialog.close();
  if (what === 'find') {
    $('find').value = decoded(value);
    view.kind = '';
    refresh();
    $('queries').scrollIntoView();
    $('find').focus({preventScroll: true});
  }
}

function startPages() {
  dialog.addEventListener('close', () => {
    shownRow = -1;
    if (!location.hash.startsWith('#q=')) return;
    if (cameFromHere) history.back();
    else history.replaceState(null, '', location.pathname + location.search);
  });
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
  $('page-close').addEventListener('click', () => dialog.close());
  $('page-previous').addEventListener('click', () => step(-1));
  $('page-next').addEventListener('click', () => step(1));
  dialog.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('.scroll')) return;
    if (event.key === 'ArrowLeft') step(-1);
    if (event.key === 'ArrowRight') step(1);
  });
  addEventListener('hashchange', route);
  route(null);
}
