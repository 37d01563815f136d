/** How edges run: a calm curve ahead, and for what leads back a way around below. */
import type { Box } from '../graph/geometry';
import type { Point } from '../graph/model';

export interface Ends {
  readonly sourceX: number;
  readonly sourceY: number;
  readonly targetX: number;
  readonly targetY: number;
}

export interface EdgePath {
  readonly d: string;
  /** Where a label stands. */
  readonly labelX: number;
  readonly labelY: number;
}

/** How far an edge that leads back goes out before it turns. */
const TURN = 24;
const RADIUS = 12;

/** `below` is where an edge that leads back may run, under both nodes. */
export function edgePath(ends: Ends, below: number): EdgePath {
  const { sourceX, sourceY, targetX, targetY } = ends;
  return targetX >= sourceX + 8 ? ahead(ends) : back(sourceX, sourceY, targetX, targetY, below);
}

function ahead({ sourceX, sourceY, targetX, targetY }: Ends): EdgePath {
  const reach = Math.max(16, Math.min(140, (targetX - sourceX) / 2));
  const d = `M${sourceX} ${sourceY}C${sourceX + reach} ${sourceY} ${targetX - reach} ${targetY} ${targetX} ${targetY}`;
  return { d, labelX: (sourceX + targetX) / 2, labelY: (sourceY + targetY) / 2 };
}

function back(x: number, y: number, toX: number, toY: number, below: number): EdgePath {
  const line = Math.max(below, y + 2 * RADIUS, toY + 2 * RADIUS);
  const [right, left] = [x + TURN, toX - TURN];
  const r = RADIUS;
  const d =
    `M${x} ${y}H${right - r}Q${right} ${y} ${right} ${y + r}V${line - r}Q${right} ${line} ${right - r} ${line}` +
    `H${left + r}Q${left} ${line} ${left} ${line - r}V${toY + r}Q${left} ${toY} ${left + r} ${toY}H${toX}`;
  return { d, labelX: (x + toX) / 2, labelY: line };
}

/** The ends of an edge whose nodes are dragged. */
export function moved(ends: Ends, from: Point | undefined, to: Point | undefined): Ends {
  if (!from && !to) return ends;
  return {
    sourceX: ends.sourceX + (from?.x ?? 0),
    sourceY: ends.sourceY + (from?.y ?? 0),
    targetX: ends.targetX + (to?.x ?? 0),
    targetY: ends.targetY + (to?.y ?? 0),
  };
}

/** Where an edge between two nodes runs if it leads back. */
export function lineBelow(source: Box, target: Box): number {
  return Math.max(source.y + source.height, target.y + target.height) + TURN;
}

/** The box that an edge stays in. */
export function edgeBox(ends: Ends, below: number): Box {
  const isBack = ends.targetX < ends.sourceX + 8;
  const left = Math.min(ends.sourceX, ends.targetX) - (isBack ? TURN : 0);
  const right = Math.max(ends.sourceX, ends.targetX) + (isBack ? TURN : 0);
  const top = Math.min(ends.sourceY, ends.targetY);
  const bottom = isBack ? Math.max(below, ends.sourceY, ends.targetY) : Math.max(ends.sourceY, ends.targetY);
  return { x: left, y: top, width: right - left + 1, height: bottom - top + 1 };
}

/** How near a point is to the line of an edge, about. */
export function distanceTo(ends: Ends, below: number, x: number, y: number): number {
  const points = outline(ends, below);
  let least = Infinity;
  for (let at = 1; at < points.length; at += 1) {
    const [from, to] = [points[at - 1], points[at]];
    if (from && to) least = Math.min(least, distanceToLine(from, to, x, y));
  }
  return least;
}

/** The edge as straight lines. */
function outline(ends: Ends, below: number): Point[] {
  const { sourceX, sourceY, targetX, targetY } = ends;
  if (targetX >= sourceX + 8) return Array.from({ length: 17 }, (_, step) => along(ends, step / 16));
  const line = Math.max(below, sourceY + 2 * RADIUS, targetY + 2 * RADIUS);
  const [right, left] = [sourceX + TURN, targetX - TURN];
  return [
    { x: sourceX, y: sourceY },
    { x: right, y: sourceY },
    { x: right, y: line },
    { x: left, y: line },
    { x: left, y: targetY },
    { x: targetX, y: targetY },
  ];
}

function along({ sourceX, sourceY, targetX, targetY }: Ends, t: number): Point {
  const reach = Math.max(16, Math.min(140, (targetX - sourceX) / 2));
  const [a, b, c, d] = [(1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t ** 2, t ** 3];
  return {
    x: a * sourceX + b * (sourceX + reach) + c * (targetX - reach) + d * targetX,
    y: (a + b) * sourceY + (c + d) * targetY,
  };
}

function distanceToLine(from: Point, to: Point, x: number, y: number): number {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = dx * dx + dy * dy;
  const t = length === 0 ? 0 : Math.max(0, Math.min(1, ((x - from.x) * dx + (y - from.y) * dy) / length));
  return Math.hypot(from.x + t * dx - x, from.y + t * dy - y);
}
