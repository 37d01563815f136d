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
  type SampleKind,
  type SourceRun,
  type Sources,
  type Surroundings,
  surroundingsOf,
} from '$/inspector';
import {
  type EventChoice,
  givenPins,
  type RunRecord,
  type ShownRun,
  traceOf,
  type TestRun,
  type TestSetup,
  type Trigger,
} from '$/run';
import { clock } from './clock';
import type { Work } from './work.svelte';

/** A run that was opened to work with its data. */
export interface OpenedRun {
  /** For people: "the run of 14:02". */
  from: string;
  version: number;
  event: unknown;
  triggerId: string | undefined;
  shown: ShownRun;
}

/** Where the values of fields and previews may come from. */
export interface DataSource {
  kind: Extract<SampleKind, 'test' | 'run' | 'tap' | 'example'>;
  /** For people: "the run of 14:02, version 3". */
  text: string;
  /** Which of several taps. */
  tap?: string;
}

const tapKey = ({ nodeId, receivedAt }: Schemas['TapEvent']): string => `${nodeId} ${receivedAt}`;
/** Taps to choose from, the newest first. */
const TAPS_MAX = 5;

export class View {
  setup = $state.raw<TestSetup>({});
  cursor = $state<number>();
  execution = $state<number>();
  /** Nodes before which test runs pause; kept while the editor is open. */
  breakpoints = $state.raw<ReadonlySet<string>>(new Set());
  taps = $state.raw<readonly Schemas['TapEvent'][]>([]);
  /** The run that was opened. */
  opened = $state.raw<OpenedRun>();
  /** The newest run that has something to tell: values come from it, and nothing of it is on the graph until it is chosen. */
  recent = $state.raw<OpenedRun>();
  /** What was chosen as the source of data, and which test was the last then: the next test counts again. */
  #chosen = $state.raw<{ source: DataSource; test: string | undefined }>();
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

  readonly #source = $derived.by(() => this.opened ?? this.recent);
  /** Where data can come from, the best first. */
  readonly sources = $derived.by((): DataSource[] => [
    ...(this.test.record ? [{ kind: 'test' as const, text: 'the last test' }] : []),
    ...(this.#source
      ? [{ kind: 'run' as const, text: `${this.#source.from}, version ${this.#source.version}` }]
      : []),
    ...this.taps.slice(0, TAPS_MAX).map((tap) => ({
      kind: 'tap' as const,
      text: `the event of ${clock(tap.receivedAt)}`,
      tap: tapKey(tap),
    })),
    { kind: 'example' as const, text: 'examples' },
  ]);
  /** What values come from where there is nothing better, such as a pin. */
  readonly source = $derived.by((): DataSource => {
    const chosen = this.#chosen;
    const isStill = chosen && (chosen.source.kind === 'test' || chosen.test === this.test.record?.id);
    const isSame = ({ kind, tap }: DataSource) => kind === chosen?.source.kind && tap === chosen.source.tap;
    const kept = isStill ? this.sources.find(isSame) : undefined;
    return kept ?? this.sources[0] ?? { kind: 'example', text: 'examples' };
  });
  choose(source: DataSource): void {
    if (source.kind === 'run') this.opened ??= this.recent;
    this.#chosen = { source, test: this.test.record?.id };
  }
  /** Opens a run: its data counts until something else is chosen, or tested. */
  open(run: OpenedRun): void {
    this.opened = run;
    const source = this.sources.find(({ kind }) => kind === 'run');
    if (source) this.choose(source);
    if (run.shown.canReplay && run.shown.isQuick) void run.shown.replay.start();
  }
  /** The run whose data is shown, as it is known. */
  readonly run = $derived.by((): RunRecord | undefined =>
    this.source.kind === 'run' ? this.opened?.shown.record : this.test.record,
  );

  readonly #sources = $derived.by((): Sources => {
    const { record } = this.test;
    const { source } = this;
    const opened = this.#source;
    const runs: SourceRun[] = record ? [{ kind: 'test', from: 'the last test', record }] : [];
    if (opened) {
      const { from, event, triggerId, shown } = opened;
      runs.push({ kind: 'run', from, record: shown.record, event, triggerId });
    }
    const taps = [...this.taps].sort(
      (a, b) => Number(tapKey(b) === source.tap) - Number(tapKey(a) === source.tap),
    );
    return {
      runs,
      taps: taps.map((tap) => ({
        triggerId: tap.nodeId,
        from: `the event of ${clock(tap.receivedAt)}`,
        value: tap.eventData,
      })),
      variables: this.variables,
      secrets: this.secrets,
      preferred: source.kind,
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

  /** What the nodes of the open graph gave in the run that is shown. */
  readonly given = $derived.by(() => {
    const { run } = this;
    if (!run || run.status === 'running') return [];
    const from = this.source.kind === 'run' ? this.opened?.from : 'the last test';
    const { definition, prefix } = this.level;
    const basis = { catalogue: this.catalogue, doc: this.doc, record: run };
    return givenPins(basis, definition, prefix).map((given) => ({
      ...given,
      pin: from === undefined ? given.pin : { ...given.pin, from },
    }));
  });

  /** The run on the graph: the last test, up to the cursor, or the run that was opened. */
  readonly overlay = $derived.by((): RunOverlay | null => {
    if (this.source.kind === 'run') {
      const record = this.opened?.shown.record;
      return record && record.executions.length > 0 ? overlayOf(traceOf(record), record.id) : null;
    }
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
