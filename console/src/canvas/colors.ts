/** Colours of the theme for drawing on a `<canvas>`, which knows no custom properties. */
export interface Colors {
  readonly node: string;
  readonly line: string;
  readonly edge: string;
  readonly accent: string;
  readonly ok: string;
  readonly bad: string;
  readonly warn: string;
  readonly info: string;
  readonly dim: string;
  readonly view: string;
}

const NAMES: Record<keyof Colors, string> = {
  node: '--raised',
  line: '--line-strong',
  edge: '--edge',
  accent: '--accent',
  ok: '--ok',
  bad: '--bad',
  warn: '--warn',
  info: '--info',
  dim: '--dim',
  view: '--hover',
};

/** Reads them where an element is; again when the theme changes. */
export function readColors(element: HTMLElement): Colors {
  const probe = document.createElement('span');
  probe.hidden = true;
  element.append(probe);
  const entries = Object.entries(NAMES).map(([name, property]) => {
    probe.style.color = `var(${property})`;
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  return Object.fromEntries(entries) as Colors;
}

/** Calls when the theme changes; gives what ends it. */
export function onTheme(change: () => void): () => void {
  const media = matchMedia('(prefers-color-scheme: dark)');
  media.addEventListener('change', change);
  const observer = new MutationObserver(change);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme', 'class'] });
  return () => {
    media.removeEventListener('change', change);
    observer.disconnect();
  };
}
