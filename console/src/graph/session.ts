/**
 * What is open in an editor: the document, which of its graphs, what is selected and focused.
 *
 * Shared by the canvas, the outline, the inspector and the command menu. Everything that changes the document goes
 * through here or through `document.dispatch`, and is announced.
 */
import * as actions from './actions';
import { compositeOf, type Catalogue } from './catalogue';
import {
  type Clip,
  type Foreign,
  NO_SELECTION,
  pasteEdit,
  readClip,
  readForeign,
  type Selection,
} from './clipboard';
import { refusal, type Ends } from './connect';
import { DocumentStore, Observable } from './document';
import type { Edit } from './edit';
import { addOwnType, compose, type OwnKind } from './own-types';
import { pinEdit, unpinAllEdit, type GivenPin } from './pins';
import {
  graphOf,
  indexOf,
  nodeName,
  type DefinitionName,
  type Graph,
  type GraphNode,
  type Point,
} from './model';

/** Which graph is open: the pattern's own, or a composite's inner one. */
export interface Level {
  readonly definition: DefinitionName;
  /** Path of the composites that lead here, such as `checkout/`: names of nodes in runs begin with it. */
  readonly prefix: string;
}

export type Focus = { readonly kind: 'node' | 'edge' | 'note'; readonly id: string } | null;

/** What views are asked to do; each asking is a new object. */
export type Request =
  | { readonly kind: 'reveal'; readonly nodes: readonly string[] }
  | { readonly kind: 'fit' }
  | { readonly kind: 'zoom'; readonly by: 1 | -1 | 0 }
  | { readonly kind: 'palette'; readonly from?: actions.NewNode }
  | { readonly kind: 'connect'; readonly node: string }
  | { readonly kind: 'rename'; readonly node: string }
  | { readonly kind: 'find' }
  | { readonly kind: 'tidy' }
  | { readonly kind: 'focus' };

export class Session {
  readonly level = new Observable<Level>({ definition: null, prefix: '' });
  readonly selection = new Observable<Selection>(NO_SELECTION);
  readonly focus = new Observable<Focus>(null);
  /** What a live region says; each saying is a new object. */
  readonly announcement = new Observable<{ readonly text: string }>({ text: '' });
  readonly requests = new Observable<Request | null>(null);
  /** What the nodes of the open graph gave in the run that is shown; kept by the screen. */
  given: (() => readonly GivenPin[]) | undefined;
  /** The middle of what is on the screen, where things without a place go. Kept by the canvas. */
  center: (() => Point) | undefined;
  /** Shows why something could not be done; kept by the screen. Without it, only the live region says so. */
  onrefused: ((text: string) => void) | undefined;
  /** Makes a text that can be pasted of what another system's editor copies; kept by the screen, which says what differs. */
  translate: ((copied: Foreign) => Promise<string>) | undefined;

  constructor(
    readonly document: DocumentStore,
    readonly catalogue: Catalogue,
  ) {
    document.onChange((change) => {
      this.clean();
      if (change.kind !== 'reset') this.say(spoken(change));
    });
  }

  get graph(): Graph {
    return graphOf(this.document.doc, this.level.value.definition);
  }

  get here(): actions.Here {
    return { catalogue: this.catalogue, doc: this.document.doc, definition: this.level.value.definition };
  }

  node(id: string): GraphNode | undefined {
    return indexOf(this.graph).nodes.get(id);
  }

  dispatch(edit: Edit, group?: string): boolean {
    return this.document.dispatch(edit, group === undefined ? {} : { group });
  }

  undo(): void {
    this.document.undo();
  }

  redo(): void {
    this.document.redo();
  }

  say(text: string): void {
    this.announcement.set({ text });
  }

  /** Says why what was asked for is not done. */
  refuse(text: string): void {
    if (this.onrefused) this.onrefused(text);
    else this.say(text);
  }

  ask(request: Request): void {
    this.requests.set(request);
  }

  /** Selects nodes, and focuses the last of them. */
  select(nodes: readonly string[], add = false): void {
    const before = add ? this.selection.value : NO_SELECTION;
    this.selection.set({ ...before, nodes: new Set([...before.nodes, ...nodes]) });
    const last = nodes.at(-1);
    if (last !== undefined) this.focus.set({ kind: 'node', id: last });
  }

  selectAll(): void {
    const { nodes, notes } = indexOf(this.graph);
    this.selection.set({ nodes: new Set(nodes.keys()), edges: new Set(), notes: new Set(notes.keys()) });
    this.say(`Selected ${nodes.size} node${nodes.size === 1 ? '' : 's'}`);
  }

  clearSelection(): void {
    this.selection.set(NO_SELECTION);
  }

  /** Brings a node into view and selects it; `path` may lead through composites, as names in runs do. */
  reveal(path: string): void {
    const parts = path.split('/');
    const id = parts.pop() ?? '';
    const level = this.levelAt(parts);
    if (
      level &&
      (level.definition !== this.level.value.definition || level.prefix !== this.level.value.prefix)
    ) {
      this.open(level);
    }
    if (!this.node(id)) return;
    this.select([id]);
    this.ask({ kind: 'reveal', nodes: [id] });
  }

  /** The graph that a path of composites leads to; undefined if it leads nowhere. */
  levelAt(path: readonly string[]): Level | undefined {
    let level: Level = { definition: null, prefix: '' };
    for (const id of path) {
      const node = indexOf(graphOf(this.document.doc, level.definition)).nodes.get(id);
      if (!node || !compositeOf(this.catalogue, this.document.doc, node.type)) return undefined;
      level = { definition: node.type, prefix: `${level.prefix}${id}/` };
    }
    return level;
  }

  /** The graph of a definition, by the shortest way of composites that leads to it. */
  levelOf(definition: DefinitionName): Level {
    const seen = new Set<DefinitionName>();
    const waiting: Level[] = [{ definition: null, prefix: '' }];
    for (let level = waiting.shift(); level; level = waiting.shift()) {
      if (level.definition === definition) return level;
      for (const node of graphOf(this.document.doc, level.definition).nodes) {
        if (seen.has(node.type) || !compositeOf(this.catalogue, this.document.doc, node.type)) continue;
        seen.add(node.type);
        waiting.push({ definition: node.type, prefix: `${level.prefix}${node.id}/` });
      }
    }
    // No node is of that type.
    return { definition, prefix: `${definition}/` };
  }

  /** Opens another graph of the document. */
  open(level: Level): void {
    this.level.set(level);
    this.selection.set(NO_SELECTION);
    this.focus.set(null);
  }

  /** Opens the inner graph of a composite's node. False if it has none. */
  enter(id: string): boolean {
    const node = this.node(id);
    if (!node || !compositeOf(this.catalogue, this.document.doc, node.type)) return false;
    this.open({ definition: node.type, prefix: `${this.level.value.prefix}${id}/` });
    this.say(`Opened ${nodeName(node)}`);
    return true;
  }

  /** Back to the graph around this one. */
  leave(): void {
    const path = this.level.value.prefix.split('/').slice(0, -1);
    const inner = path.pop();
    const outer = this.levelAt(path) ?? { definition: null, prefix: '' };
    this.open(outer);
    if (inner !== undefined && this.node(inner)) this.select([inner]);
  }

  add(wanted: actions.NewNode): string {
    return this.show(actions.addNode(this.here, this.placed(wanted)));
  }

  /** Adds a new type of the pattern's own, and a node of it. */
  addOwn(kind: OwnKind, wanted: actions.NewNode, content?: string, name?: string): string {
    return this.show(addOwnType(this.here, kind, this.placed(wanted), content, name));
  }

  private placed(wanted: actions.NewNode): actions.NewNode {
    const middle = this.graph.nodes.length === 0 ? this.center?.() : undefined;
    return wanted.at || !middle ? wanted : { ...wanted, at: middle };
  }

  private show({ edit, node }: actions.Added): string {
    this.dispatch(edit);
    this.select([node]);
    this.ask({ kind: 'reveal', nodes: [node] });
    return node;
  }

  /** Puts what is selected into a composite, or says why that can't be. */
  composeSelection(): void {
    const made = compose(this.here, this.selection.value.nodes);
    if ('refusal' in made) this.refuse(made.refusal);
    else this.show(made);
  }

  addNote(at?: Point): string {
    const { edit, note } = actions.newNote(this.here, at ?? this.center?.() ?? { x: 0, y: 0 });
    this.dispatch(edit);
    this.selection.set({ ...NO_SELECTION, notes: new Set([note]) });
    this.focus.set({ kind: 'note', id: note });
    return note;
  }

  /** Connects, or says why not. */
  connect(ends: Ends): boolean {
    const refused = refusal(this.catalogue, this.document.doc, this.level.value.definition, ends);
    if (refused) this.refuse(refused.message);
    else this.dispatch(actions.connectEdit(this.here, ends));
    return refused === undefined;
  }

  removeSelection(): void {
    const { nodes, edges, notes } = this.selection.value;
    const next = this.neighbour(nodes);
    const lists = { nodes: [...nodes], edges: [...edges], notes: [...notes] };
    this.dispatch({ kind: 'remove', definition: this.level.value.definition, ...lists });
    if (next !== undefined && this.node(next)) this.select([next]);
  }

  duplicateSelection(): void {
    const { nodes, notes } = this.selection.value;
    if (nodes.size + notes.size > 0) this.put(actions.duplicate(this.here, this.selection.value));
  }

  /** Pastes a copied text, of another system as soon as it is translated; false if it is none. */
  paste(text: string, at?: Point): boolean {
    const copied = this.translate && readForeign(text);
    if (copied) {
      void this.pasteTranslated(copied, at ?? this.center?.());
      return true;
    }
    const clip = readClip(text);
    if (clip) this.pasteClip(clip, at);
    return clip !== undefined;
  }

  private pasteClip(clip: Clip, at?: Point): void {
    this.put(pasteEdit(this.document.doc, this.level.value.definition, clip, at ? { at } : {}));
  }

  /** Into the graph that is open by then. */
  private async pasteTranslated(copied: Foreign, at?: Point): Promise<void> {
    try {
      const clip = readClip((await this.translate?.(copied)) ?? '');
      if (clip) this.pasteClip(clip, at);
      else this.refuse(`What was copied in ${copied.system} has no nodes.`);
    } catch (error) {
      this.refuse(error instanceof Error ? error.message : String(error));
    }
  }

  toggleDisabled(): void {
    const nodes = [...this.selection.value.nodes];
    if (nodes.length) this.dispatch(actions.toggleDisabled(this.here, nodes));
  }

  /** Pins of what is selected, or inside of it, that the run which is shown has given. */
  givenToSelection(): GivenPin[] {
    const { level, selection } = this;
    const types = new Set(
      [...selection.value.nodes].flatMap((id) => {
        const node = this.node(id);
        return node && compositeOf(this.catalogue, this.document.doc, node.type) ? [node.type] : [];
      }),
    );
    return (this.given?.() ?? []).filter(({ definition, node }) =>
      definition === level.value.definition ? selection.value.nodes.has(node) : types.has(definition ?? ''),
    );
  }

  /** Pins what is selected to what it gave; unpins it if that is done already. */
  togglePins(): void {
    const edit = pinEdit(this.document.doc, this.givenToSelection());
    if (edit) this.dispatch(edit);
    else this.unpinSelection();
  }

  /** Pins all that the run which is shown has given in the open graph. */
  pinAll(): void {
    const edit = pinEdit(this.document.doc, this.given?.() ?? []);
    if (edit) this.dispatch(edit);
    else this.say('Every node that this run has a value for is pinned.');
  }

  unpinAll(): void {
    const edit = unpinAllEdit(this.document.doc);
    if (edit) this.dispatch(edit);
  }

  unpinSelection(): void {
    const nodes = [...this.selection.value.nodes].filter((id) => this.node(id)?.data?.pin !== undefined);
    if (nodes.length)
      this.dispatch({ kind: 'data', definition: this.level.value.definition, nodes, field: 'pin' });
  }

  rename(node: string, label: string): void {
    this.dispatch({ kind: 'rename', definition: this.level.value.definition, node, label: label.trim() });
  }

  /** Moves what is selected by some pixels; moves that follow each other are one step. */
  nudge(x: number, y: number): void {
    const { nodes, notes } = indexOf(this.graph);
    const moved = (ids: ReadonlySet<string>, items: ReadonlyMap<string, { readonly position?: Point }>) =>
      Object.fromEntries(
        [...ids].flatMap((id): [string, Point][] => {
          const item = items.get(id);
          const from = item?.position ?? { x: 0, y: 0 };
          return item ? [[id, { x: from.x + x, y: from.y + y }]] : [];
        }),
      );
    const { selection, level } = this;
    const group = `nudge ${[...selection.value.nodes, ...selection.value.notes].join(' ')}`;
    this.dispatch(
      {
        kind: 'move',
        definition: level.value.definition,
        nodes: moved(selection.value.nodes, nodes),
        notes: moved(selection.value.notes, notes),
      },
      group,
    );
  }

  private put(paste: { readonly edit: Edit; readonly selection: Selection }): void {
    this.dispatch(paste.edit);
    this.selection.set(paste.selection);
    const last = [...paste.selection.nodes].at(-1);
    if (last !== undefined) this.focus.set({ kind: 'node', id: last });
  }

  /** What is to be focused once nodes are gone: what leads to them, or what follows. */
  private neighbour(nodes: ReadonlySet<string>): string | undefined {
    const { incoming, outgoing } = indexOf(this.graph);
    const [first] = nodes;
    if (first === undefined) return undefined;
    const around = [
      ...(incoming.get(first) ?? []).map((edge) => edge.source),
      ...(outgoing.get(first) ?? []).map((edge) => edge.target),
    ];
    return around.find((id) => !nodes.has(id)) ?? this.graph.nodes.find((node) => !nodes.has(node.id))?.id;
  }

  /** Forgets what is not there any more. */
  private clean(): void {
    const { definition } = this.level.value;
    if (definition !== null && !(definition in this.document.doc.definitions)) {
      this.open({ definition: null, prefix: '' });
      return;
    }
    const { nodes, edges, notes } = indexOf(this.graph);
    const { selection, focus } = this;
    const kept = (ids: ReadonlySet<string>, there: ReadonlyMap<string, unknown>) =>
      [...ids].every((id) => there.has(id)) ? ids : new Set([...ids].filter((id) => there.has(id)));
    const next = {
      nodes: kept(selection.value.nodes, nodes),
      edges: kept(selection.value.edges, edges),
      notes: kept(selection.value.notes, notes),
    };
    const same =
      next.nodes === selection.value.nodes &&
      next.edges === selection.value.edges &&
      next.notes === selection.value.notes;
    if (!same) selection.set(next);
    const places = { node: nodes, edge: edges, note: notes };
    if (focus.value && !places[focus.value.kind].has(focus.value.id)) focus.set(null);
  }
}

function spoken(change: { readonly kind: string; readonly title: string }): string {
  if (change.kind === 'undo') return `Undone: ${change.title}`;
  return change.kind === 'redo' ? `Redone: ${change.title}` : change.title;
}
