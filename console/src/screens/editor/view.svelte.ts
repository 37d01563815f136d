/** What the editor's parts show of a document: the chosen node, what its expressions see, the run on the graph. */

import { fromStore } from 'svelte/store';
import type { Schemas } from '$/api/client';
import { isTrigger, portsOf, typeTitle } from '$/graph/catalogue';
import { graphOf, indexOf, nodeName, type Problem } from '$/graph/model';
import { overlayOf, type RunOverlay } from '$/graph/trace';
import {
  arrivedAt,
  type Diagnostic,
  NO_SURROUNDINGS,
  outputSample,
  type Sources,
  type Surroundings,
  surroundingsOf,
} from '$/inspector';
import { type EventChoice, traceOf, type TestRun, type TestSetup, type Trigger } from '$/run';
import type { Work } from './work.svelte';

const clock = (time: string): string =>
  new Date(time).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hour12: false });

export class View {
  setup = $state.raw<TestSetup>({});
  cursor = $state<number>();
  execution = $state<number>();
  /** Nodes before which test runs pause; kept while the editor is open. */
  breakpoints = $state.raw<ReadonlySet<string>>(new Set());
  taps = $state.raw<readonly Schemas['TapEvent'][]>([]);
  secrets = $state.raw<readonly string[]>([]);
  variables = $state.raw<readonly string[]>([]);
  readonly #doc;
  readonly #level;
  readonly #selection;

  constructor(
    readonly work: Work,
    readonly test: TestRun,
  ) {
    this.#doc = fromStore(work.store);
    this.#level = fromStore(work.session.level);
    this.#selection = fromStore(work.session.selection);
  }

  get catalogue() {
    return this.work.session.catalogue;
  }
  readonly doc = $derived.by(() => this.#doc.current);
  readonly level = $derived.by(() => this.#level.current);
  readonly graph = $derived.by(() => graphOf(this.doc, this.level.definition));
  /** The node that is selected alone. */
  readonly node = $derived.by(() => {
    const { nodes } = this.#selection.current;
    const [only] = nodes;
    return nodes.size === 1 && only !== undefined ? indexOf(this.graph).nodes.get(only) : undefined;
  });
  readonly title = $derived(this.node ? typeTitle(this.catalogue, this.node.type) : '');
  readonly diagnostics = $derived.by(
    () => this.work.validation.diagnostics as unknown as readonly Diagnostic[],
  );
  readonly problems = $derived.by((): readonly Problem[] => this.diagnostics);

  readonly triggers = $derived.by((): Trigger[] =>
    this.doc.graph.nodes
      .filter((node) => isTrigger(this.catalogue, node.type))
      .map((node) => ({
        id: node.id,
        name: nodeName(node),
        type: node.type,
        examples: this.catalogue.byName.get(node.type)?.examples,
        ownExample: node.data?.['exampleEvent'],
      })),
  );
  /** Events that came to the pattern's webhooks. */
  readonly events = $derived.by((): EventChoice[] =>
    this.taps.map((tap) => ({
      text: `${tap.webhookAlias}, ${clock(tap.receivedAt)}`,
      value: tap.eventData,
      triggerId: tap.nodeId,
    })),
  );

  readonly #sources = $derived.by((): Sources => {
    const { record } = this.test;
    return {
      runs: record ? [{ kind: 'test', from: 'the last test', record }] : [],
      taps: this.taps.map((tap) => ({
        triggerId: tap.nodeId,
        from: `the event of ${clock(tap.receivedAt)}`,
        value: tap.eventData,
      })),
      variables: this.variables,
      secrets: this.secrets,
    };
  });
  readonly #place = $derived.by(() => ({
    catalogue: this.catalogue,
    doc: this.doc,
    definition: this.level.definition,
    prefix: this.level.prefix,
    sources: this.#sources,
  }));
  readonly surroundings = $derived.by((): Surroundings =>
    this.node ? surroundingsOf(this.#place, this.node.id) : NO_SURROUNDINGS,
  );
  readonly outputs = $derived.by(() => {
    const { node } = this;
    if (!node) return [];
    const ports = portsOf(this.catalogue, this.doc, node).outputs;
    return ports.map(({ name }) => ({ port: name, sample: outputSample(this.#place, node, name) }));
  });

  /** The last test on the graph, up to the cursor. */
  readonly overlay = $derived.by((): RunOverlay | null => {
    const { record } = this.test;
    if (!record) return null;
    const overlay = overlayOf(traceOf(record), record.id, {
      live: record.status === 'running',
      ...(this.cursor !== undefined && { cursor: this.cursor }),
    });
    const pausedAt = this.cursor === undefined ? record.breakpoint?.nodeId : undefined;
    return pausedAt === undefined ? overlay : { ...overlay, current: pausedAt };
  });

  /** How people call a node, by its path through composites. */
  nameOf = (path: string): string => {
    const parts = path.split('/');
    const id = parts.pop() ?? '';
    const level = this.work.session.levelAt(parts);
    const node = level && indexOf(graphOf(this.doc, level.definition)).nodes.get(id);
    return node ? nodeName(node) : path;
  };

  inputOf = (execution: number) =>
    this.test.record
      ? arrivedAt(this.#place, this.test.record, execution)
      : { known: false, value: undefined };

  setBreakpoint(node: string, isOn: boolean): void {
    const next = new Set(this.breakpoints);
    if (isOn) next.add(node);
    else next.delete(node);
    this.breakpoints = next;
  }
}
