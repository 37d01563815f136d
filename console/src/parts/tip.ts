/** A short text beside what is pointed at or focused. Its name for screen readers is the element's own. */

let bubble: HTMLElement | undefined;
let owner: Element | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

const DELAY_MS = 350;
const GAP_PX = 6;

function show(element: Element, text: string): void {
  if (!bubble) {
    bubble = document.createElement('div');
    bubble.className = 'tip';
    bubble.popover = 'manual';
    bubble.setAttribute('aria-hidden', 'true');
  }
  // In an open dialog, only the dialog's descendants are above its backdrop.
  (element.closest('dialog') ?? document.body).append(bubble);
  bubble.textContent = text;
  owner = element;
  bubble.showPopover();
  const at = element.getBoundingClientRect();
  const own = bubble.getBoundingClientRect();
  const isBelow = at.bottom + GAP_PX + own.height < window.innerHeight;
  const left = Math.min(Math.max(4, at.left + (at.width - own.width) / 2), window.innerWidth - own.width - 4);
  bubble.style.left = `${left}px`;
  bubble.style.top = `${isBelow ? at.bottom + GAP_PX : at.top - own.height - GAP_PX}px`;
}

function hide(element: Element): void {
  clearTimeout(timer);
  if (owner !== element) return;
  bubble?.hidePopover();
  bubble?.remove();
  owner = undefined;
}

/** An attachment: `<button {@attach tip('Copy')}>`. */
export function tip(text: string | undefined) {
  return (element: Element): (() => void) | void => {
    if (!text) return;
    const later = () => {
      clearTimeout(timer);
      timer = setTimeout(() => show(element, text), DELAY_MS);
    };
    // In a task of its own: focus moves while a menu is being shown, and no other popover may be shown meanwhile.
    const focused = () => {
      if (!element.matches(':focus-visible')) return;
      clearTimeout(timer);
      timer = setTimeout(() => show(element, text));
    };
    const gone = () => hide(element);
    const escaped = (event: Event) => (event as KeyboardEvent).key === 'Escape' && hide(element);
    const listeners: [string, (event: Event) => void][] = [
      ['pointerenter', later],
      ['focus', focused],
      ['pointerleave', gone],
      ['blur', gone],
      ['pointerdown', gone],
      ['keydown', escaped],
    ];
    for (const [kind, listener] of listeners) element.addEventListener(kind, listener);
    return () => {
      gone();
      for (const [kind, listener] of listeners) element.removeEventListener(kind, listener);
    };
  };
}
