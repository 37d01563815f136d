/** Which boxes are near a part of the plane: a grid of cells, made once for a graph. */
import { overlaps, type Box } from '../graph/geometry';
import type { Point } from '../graph/model';

/** Side of a cell, in pixels at zoom 1. */
export const CELL = 200;
/** A box that would be in more cells than this is looked at every time. */
const CELLS_MAX = 400;

export class Cells<T extends Box> {
  private readonly cells: Map<string, readonly T[]>;
  private large: readonly T[];

  /** By their ids. What has not changed since other cells were made is not put into them again. */
  constructor(
    private readonly items: ReadonlyMap<string, T>,
    before?: Cells<T>,
  ) {
    this.cells = new Map(before?.cells);
    this.large = before?.large ?? [];
    for (const [id, item] of before?.items ?? []) {
      if (items.get(id) !== item) this.change(item, (list) => list.filter((other) => other !== item));
    }
    for (const [id, item] of items) {
      if (before?.items.get(id) !== item) this.change(item, (list) => [...list, item]);
    }
  }

  /** Changes the lists that an item is in, or is to be in. */
  private change(item: T, changed: (list: readonly T[]) => readonly T[]): void {
    const [left, top] = [cell(item.x), cell(item.y)];
    const [right, bottom] = [cell(item.x + item.width), cell(item.y + item.height)];
    if ((right - left + 1) * (bottom - top + 1) > CELLS_MAX) {
      this.large = changed(this.large);
      return;
    }
    for (let x = left; x <= right; x += 1) {
      for (let y = top; y <= bottom; y += 1) {
        const key = `${x} ${y}`;
        const list = changed(this.cells.get(key) ?? []);
        if (list.length) this.cells.set(key, list);
        else this.cells.delete(key);
      }
    }
  }

  /** The items that overlap a box. */
  within(box: Box): Set<T> {
    const found = new Set<T>();
    const note = (item: T) => overlaps(item, box) && found.add(item);
    this.large.forEach(note);
    const [left, top] = [cell(box.x), cell(box.y)];
    const [right, bottom] = [cell(box.x + box.width), cell(box.y + box.height)];
    // Of a plane that is mostly empty, the cells that are there are fewer.
    if ((right - left + 1) * (bottom - top + 1) > this.cells.size) {
      for (const list of this.cells.values()) list.forEach(note);
      return found;
    }
    for (let x = left; x <= right; x += 1) {
      for (let y = top; y <= bottom; y += 1) this.cells.get(`${x} ${y}`)?.forEach(note);
    }
    return found;
  }

  /** The last of the items at a point. */
  at(point: Point): T | undefined {
    const list = [...this.large, ...(this.cells.get(`${cell(point.x)} ${cell(point.y)}`) ?? [])];
    return list.findLast(
      (item) =>
        point.x >= item.x &&
        point.x < item.x + item.width &&
        point.y >= item.y &&
        point.y < item.y + item.height,
    );
  }
}

function cell(length: number): number {
  return Math.floor(length / CELL);
}

export interface Viewport {
  readonly x: number;
  readonly y: number;
  readonly zoom: number;
}

/** What of the plane is on the screen. */
export function viewBox(viewport: Viewport, width: number, height: number): Box {
  const { x, y, zoom } = viewport;
  return { x: -x / zoom, y: -y / zoom, width: width / zoom, height: height / zoom };
}

/** A box with all the cells that it touches and one more around: what is mounted changes only when this does. */
export function mountBox(box: Box): Box {
  const x = (cell(box.x) - 1) * CELL + CELL / 2;
  const y = (cell(box.y) - 1) * CELL + CELL / 2;
  return {
    x,
    y,
    width: (cell(box.x + box.width) + 2) * CELL - CELL / 2 - x,
    height: (cell(box.y + box.height) + 2) * CELL - CELL / 2 - y,
  };
}

export function isSameView(one: Viewport, other: Viewport): boolean {
  return one.x === other.x && one.y === other.y && one.zoom === other.zoom;
}

export function sameBox(one: Box, other: Box): boolean {
  return one.x === other.x && one.y === other.y && one.width === other.width && one.height === other.height;
}

/** The viewport that shows a box as large as it goes, with some room around it. */
export function fitting(
  box: Box,
  width: number,
  height: number,
  zoomMax = 1,
  margin = 60,
  zoomMin = ZOOM_MIN,
): Viewport {
  const room = Math.min(margin, width / 8, height / 8);
  const zoom = Math.max(
    zoomMin,
    Math.min(
      zoomMax,
      (width - 2 * room) / Math.max(1, box.width),
      (height - 2 * room) / Math.max(1, box.height),
    ),
  );
  return {
    x: (width - box.width * zoom) / 2 - box.x * zoom,
    y: (height - box.height * zoom) / 2 - box.y * zoom,
    zoom,
  };
}

/**
 * The first view of a graph: all of it, or, if that would be too small to be read, its beginning, or the node that is wanted
 * in the middle. The minimap shows the rest.
 */
export function openingView(all: Box, start: Box, width: number, height: number, isWanted = false): Viewport {
  const whole = fitting(all, width, height);
  if (whole.zoom >= ZOOM_WHOLE) return whole;
  const zoom = ZOOM_READABLE;
  const margin = Math.min(60, width / 8);
  const isTall = all.height * zoom > height;
  // Of a tall graph, no more is shown above its highest node than a margin.
  const highest = all.y + (height / 2 - margin) / zoom;
  const middle = isTall ? Math.max(start.y + start.height / 2, highest) : all.y + all.height / 2;
  const centered = (box: Box) => (width - box.width * zoom) / 2 - box.x * zoom;
  const isWide = all.width * zoom > width;
  return {
    x: !isWide ? centered(all) : isWanted ? centered(start) : margin - start.x * zoom,
    y: height / 2 - (isWanted ? start.y + start.height / 2 : middle) * zoom,
    zoom,
  };
}

export const ZOOM_MIN = 0.05;
export const ZOOM_MAX = 2;
/** Below this the ports of nodes are too small to be seen. */
export const ZOOM_SMALL = 0.6;
/** Names of nodes can be read at this. */
const ZOOM_READABLE = 0.65;
/** A graph of which nothing is cut off may be a little smaller: half a node at the edge looks like a mistake. */
const ZOOM_WHOLE = 0.5;
/** Below this nodes are boxes in the colour of their status. */
export const ZOOM_FAR = 0.3;
