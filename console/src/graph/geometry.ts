/**
 * Sizes of nodes and places of their ports, from what is known without drawing them: nothing is measured in the page.
 * All lengths are pixels at zoom 1; a node's own are from its upper left corner.
 */
import { portsOf, type Catalogue, type NodePorts } from './catalogue';
import type { Doc, GraphNode, Point } from './model';

/** What positions snap to. */
export const GRID = 10;
export const NODE_WIDTH = 200;
/** Icon, label and type; a port without a name is at its middle. */
export const HEADER = 60;
export const ROW = 20;
/** Room between columns and rows of nodes that are placed without a layout. */
export const COLUMN = NODE_WIDTH + 80;
export const LINE = 120;

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface PlacedPort {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  /** Whether its name is written beside it, which a single port needs not. */
  readonly named: boolean;
}

export interface NodeShape {
  readonly width: number;
  readonly height: number;
  readonly inputs: readonly PlacedPort[];
  readonly outputs: readonly PlacedPort[];
}

const shapes = new WeakMap<NodePorts, NodeShape>();

/** The shape of a node, by its ports. */
export function shapeOf(ports: NodePorts): NodeShape {
  const known = shapes.get(ports);
  if (known) return known;
  // A node of an unknown type keeps its edges, at one port on each side.
  const { inputs, outputs } = ports.known
    ? ports
    : {
        inputs: [{ name: '' }],
        outputs: ports.outputs.length ? [{ name: '' }, ...ports.outputs] : [{ name: '' }],
      };
  const rows = Math.max(inputs.length > 1 ? inputs.length : 0, outputs.length > 1 ? outputs.length : 0);
  const place = (names: readonly { readonly name: string }[], x: number) =>
    names.map(({ name }, row): PlacedPort =>
      names.length > 1
        ? { name, x, y: HEADER + row * ROW, named: true }
        : { name, x, y: HEADER / 2, named: false },
    );
  const shape = {
    width: NODE_WIDTH,
    height: HEADER + rows * ROW,
    inputs: place(inputs, 0),
    outputs: place(outputs, NODE_WIDTH),
  };
  shapes.set(ports, shape);
  return shape;
}

export function boxOf(catalogue: Catalogue, doc: Doc, node: GraphNode): Box {
  const { width, height } = shapeOf(portsOf(catalogue, doc, node));
  const { x, y } = node.position ?? { x: 0, y: 0 };
  return { x, y, width, height };
}

/** The port that a handle means: by its name, else the first. */
export function portAt(
  ports: readonly PlacedPort[],
  handle: string | null | undefined,
): PlacedPort | undefined {
  if (handle === undefined || handle === null) return ports[0];
  return ports.find((port) => port.name === handle) ?? (ports[0]?.name === '' ? ports[0] : undefined);
}

export function snapped(point: Point): Point {
  return { x: Math.round(point.x / GRID) * GRID, y: Math.round(point.y / GRID) * GRID };
}

/** The box around all of them; undefined for none. */
export function boundsOf(boxes: readonly Box[]): Box | undefined {
  if (boxes.length === 0) return undefined;
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const box of boxes) {
    left = Math.min(left, box.x);
    top = Math.min(top, box.y);
    right = Math.max(right, box.x + box.width);
    bottom = Math.max(bottom, box.y + box.height);
  }
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** A box with so much more on each side. */
export function grown(box: Box, x: number, y: number): Box {
  return { x: box.x - x, y: box.y - y, width: box.width + 2 * x, height: box.height + 2 * y };
}

export function overlaps(one: Box, other: Box, margin = 0): boolean {
  return (
    one.x < other.x + other.width + margin &&
    other.x < one.x + one.width + margin &&
    one.y < other.y + other.height + margin &&
    other.y < one.y + one.height + margin
  );
}

/** The nearest free place for a box at or below a point, then further right. */
export function freePlace(boxes: readonly Box[], wanted: Box): Point {
  const gap = 20;
  for (let column = 0; column < 50; column += 1) {
    for (let line = 0; line < 12; line += 1) {
      const box = { ...wanted, x: wanted.x + column * COLUMN, y: wanted.y + line * (wanted.height + gap) };
      if (!boxes.some((other) => overlaps(box, other, gap))) return snapped(box);
    }
  }
  return snapped(wanted);
}

/** How wide a text is in the label's type, about: for cutting it before it is drawn. */
export function textWidth(text: string, size: number): number {
  let width = 0;
  for (const char of text) width += charWidth(char);
  return width * size;
}

function charWidth(char: string): number {
  if (/[iljtfrI.,:;'|!()[\]\s]/.test(char)) return 0.33;
  if (/[mwMW@%]/.test(char)) return 0.88;
  if (/[A-Z0-9]/.test(char)) return 0.64;
  return char < '\u2e80' ? 0.56 : 1;
}

/** The text, cut with an ellipsis so that it is not wider. */
export function fitted(text: string, size: number, width: number): string {
  const line = text.replace(/\s+/g, ' ');
  if (textWidth(line, size) <= width) return line;
  let shown = '';
  let used = size * 0.9;
  for (const char of line) {
    used += charWidth(char) * size;
    if (used > width) break;
    shown += char;
  }
  return `${shown.trimEnd()}…`;
}
