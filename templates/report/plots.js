// The sorted plot answers to the pointer; its queries are in the table for everybody else.
function startCurve() {
  const plot = $('curve');
  if (!plot) return;
  const changed = rows.delta.map((delta, row) => [delta, row]).filter(([delta]) => delta).sort(([a, x], [b, y]) => a - b || x - y).map(([, row]) => row);
  const {x0, x1, x2, x3, worse, better} = Object.fromEntries(Object.entries(plot.dataset).map(([name, value]) => [name, Number(value)]));
  if (changed.length !== worse + better) return; // the file holds fewer queries than the plot
  const at = (event) => {
    const box = plot.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * plot.viewBox.baseVal.width;
    if (worse && x >= x0 && x < x1) return changed[Math.floor((x - x0) / (x1 - x0) * worse)];
    if (better && x >= x2 && x < x3) return changed[worse + Math.floor((x - x2) / (x3 - x2) * better)];
    return undefined;
  };
  const rest = $('curve-says').textContent;
  plot.addEventListener('pointermove', (event) => {
    const row = at(event);
    $('curve-says').replaceChildren(...(row === undefined ? [rest] : [`${mark(rows.delta[row])} ${signed(rows.delta[row])} `, isolated(rows.text[row] || rows.id[row])]));
    plot.classList.toggle('live', row !== undefined);
  });
  plot.addEventListener('pointerleave', () => { $('curve-says').textContent = rest; });
  plot.addEventListener('click', (event) => {
    const row = at(event);
    if (row !== undefined) location.hash = `q=${encodeURIComponent(rows.id[row])}`;
  });
}

if (data) {
  startTable();
  startPages();
  startCurve();
}
