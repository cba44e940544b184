// Before anything is painted: the scheme that the reader chose last, and that scripts run.
(() => {
  const root = document.documentElement;
  root.classList.add('js');
  try {
    const chosen = localStorage.getItem('retrieval-gate-theme');
    if (chosen === 'light' || chosen === 'dark') root.dataset.theme = chosen;
  } catch { /* a file that may not store anything is read in the system's scheme */ }
})();
