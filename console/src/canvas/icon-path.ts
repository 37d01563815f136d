/** An icon as one path: one element for each icon in the page instead of a handful. */
import type { IconNode } from 'lucide';

const paths = new WeakMap<IconNode, string>();

export function pathOf(icon: IconNode): string {
  let path = paths.get(icon);
  if (path === undefined) {
    path = icon.map(([tag, attributes]) => shape(tag, attributes)).join('');
    paths.set(icon, path);
  }
  return path;
}

function shape(tag: string, attributes: Record<string, string | number | undefined>): string {
  const read = (name: string): number => Number(attributes[name] ?? 0);
  switch (tag) {
    case 'path':
      // A path may begin with a relative step, which is from the origin only if it is the first.
      return `M0 0${String(attributes['d'] ?? '')}`;
    case 'circle':
      return ellipse(read('cx'), read('cy'), read('r'), read('r'));
    case 'ellipse':
      return ellipse(read('cx'), read('cy'), read('rx'), read('ry'));
    case 'line':
      return `M${read('x1')} ${read('y1')}L${read('x2')} ${read('y2')}`;
    case 'polyline':
      return `M${String(attributes['points'] ?? '')}`;
    case 'polygon':
      return `M${String(attributes['points'] ?? '')}Z`;
    case 'rect': {
      const radius = read('rx') || read('ry');
      return rectangle(read('x'), read('y'), read('width'), read('height'), radius);
    }
    default:
      return '';
  }
}

function ellipse(x: number, y: number, rx: number, ry: number): string {
  return `M${x - rx} ${y}a${rx} ${ry} 0 1 0 ${2 * rx} 0a${rx} ${ry} 0 1 0 ${-2 * rx} 0`;
}

function rectangle(x: number, y: number, width: number, height: number, r: number): string {
  const corner = (dx: number, dy: number) => `a${r} ${r} 0 0 1 ${dx} ${dy}`;
  return (
    `M${x + r} ${y}h${width - 2 * r}${corner(r, r)}v${height - 2 * r}${corner(-r, r)}` +
    `h${2 * r - width}${corner(-r, -r)}v${2 * r - height}${corner(r, -r)}`
  );
}
