/**
 * A scene as Svelte Flow takes it: sizes and handles are given, so that it measures nothing. It has the nodes only; edges
 * are drawn by `Edges`, all in one picture.
 */
import { Position, type Node } from '@xyflow/svelte';
import type { Box } from '../graph/geometry';
import type { Selection } from '../graph/clipboard';
import type { Note, Point } from '../graph/model';
import { Cells } from './cells';
import type { EdgeView, NodeView, Scene } from './scene';

export type FlowNode = Node<{ view: NodeView } & Record<string, unknown>, 'heddle'> | NoteNode;
export type NoteNode = Node<{ note: Note; readOnly: boolean } & Record<string, unknown>, 'note'>;
/** Handles are this wide and high; what can be hit around them is larger. */
const HANDLE = 10;

/** So many nodes and edges are mounted, if there are that many near by: mounting is what costs when one pans. */
const MOUNTED_MAX = 240;

const NOTE_PREFIX = 'note:';

/** Notes and nodes share Svelte Flow's ids. */
export function noteId(flowId: string): string | undefined {
  return flowId.startsWith(NOTE_PREFIX) ? flowId.slice(NOTE_PREFIX.length) : undefined;
}

/** The boxes of a scene by cells. */
export interface SceneCells {
  readonly nodes: Cells<NodeView>;
  readonly edges: Cells<EdgeView>;
}

/** Those of a scene; `before` are those of the scene before it. */
export function cellsOf(scene: Scene, before?: SceneCells): SceneCells {
  return {
    nodes: new Cells(scene.nodes, before?.nodes),
    edges: new Cells(scene.edges, before?.edges),
  };
}

/** What of the plane is mounted. */
export interface Mounted {
  /** What must be. */
  readonly near: Box;
  /** What may be, because one may come there next. */
  readonly around: Box;
}

/** Makes flow nodes, and keeps those whose view is the same. */
export class FlowParts {
  private nodes = new Map<string, FlowNode>();
  private edges: ReadonlyMap<string, EdgeView> = new Map();

  nodesIn(
    scene: Scene,
    cells: SceneCells,
    mounted: Mounted,
    selection: Selection,
    readOnly: boolean,
  ): FlowNode[] {
    const next = new Map<string, FlowNode>();
    for (const note of scene.notes) next.set(NOTE_PREFIX + note.id, this.note(note, selection, readOnly));
    for (const view of chosen(cells.nodes, mounted, this.nodes, scene.nodes))
      next.set(view.id, this.node(view, selection));
    this.nodes = next;
    return [...next.values()];
  }

  edgesIn(scene: Scene, cells: SceneCells, mounted: Mounted): EdgeView[] {
    const views = chosen(cells.edges, mounted, this.edges, scene.edges);
    this.edges = new Map(views.map((view) => [view.id, view]));
    return views;
  }

  private node(view: NodeView, selection: Selection): FlowNode {
    const selected = selection.nodes.has(view.id);
    const before = this.nodes.get(view.id);
    if (before?.type === 'heddle' && before.data.view === view && before.selected === selected) return before;
    return {
      id: view.id,
      type: 'heddle',
      position: { x: view.x, y: view.y },
      style: placeStyle(view),
      width: view.width,
      height: view.height,
      // What it would measure: that it is the same spares a round through all nodes.
      measured: { width: view.width, height: view.height },
      handles: [...handles(view, 'target'), ...handles(view, 'source')],
      selected,
      data: { view },
      ariaRole: 'group',
      ariaLabel: `${view.name}, ${view.typeName}`,
    };
  }

  private note(note: Note, selection: Selection, readOnly: boolean): FlowNode {
    const id = NOTE_PREFIX + note.id;
    const selected = selection.notes.has(note.id);
    const before = this.nodes.get(id);
    if (before?.type === 'note' && before.data.note === note && before.selected === selected) return before;
    return {
      id,
      type: 'note',
      position: note.position,
      style: placeStyle(note.position),
      width: note.width,
      height: note.height,
      selected,
      connectable: false,
      zIndex: -1,
      handles: [],
      data: { note, readOnly },
      ariaRole: 'group',
      ariaLabel: 'Note',
    };
  }
}

/**
 * What is near, then of what is around and of what was there before as many as may be.
 *
 * What was there before comes first, in the order it had: another order would move elements about in the page, which
 * costs as much as making them anew.
 */
function chosen<T extends Box & { readonly id: string }>(
  cells: Cells<T>,
  mounted: Mounted,
  before: ReadonlyMap<string, unknown>,
  all: ReadonlyMap<string, T>,
): T[] {
  const views = new Map([...cells.within(mounted.near)].map((view) => [view.id, view]));
  const around = [...cells.within(mounted.around)];
  const old = [...before.keys()].flatMap((id) => all.get(id) ?? []);
  const fill = [...around.filter(({ id }) => before.has(id)), ...around, ...old];
  for (const view of fill) {
    if (views.size >= MOUNTED_MAX) break;
    views.set(view.id, view);
  }
  const kept = old.filter(({ id }) => views.has(id));
  return [...kept, ...[...views.values()].filter(({ id }) => !before.has(id))];
}

/**
 * Where a node stands, as a style. The library's own is a transform, which makes a paint layer of each node: there, one
 * that moves is cheap, but all that stand still cost at every pan.
 */
export function placeStyle({ x, y }: Point): string {
  return `left:${x}px;top:${y}px`;
}

function handles(view: NodeView, type: 'source' | 'target'): NonNullable<Node['handles']> {
  const ports = type === 'target' ? view.shape.inputs : view.shape.outputs;
  const position = type === 'target' ? Position.Left : Position.Right;
  // The library takes the middle of the handle's outer side for the edge's end.
  return ports.map((port) => ({
    id: port.name,
    type,
    position,
    x: type === 'target' ? port.x : port.x - HANDLE,
    y: port.y - HANDLE / 2,
    width: HANDLE,
    height: HANDLE,
  }));
}
