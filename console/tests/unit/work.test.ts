import fc from 'fast-check';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { ApiError } from '$/api/client';
import type { Drawing } from '$/api/editor';
import { applyEdit, type Edit } from '$/graph/edit';
import { isEqual } from '$/graph/equal';
import { isKeptIn, type JournalStorage, recover } from '$/graph/journal';
import type { Doc } from '$/graph/model';
import { readDocument } from '$/graph/read';
import { drawingOf, Work } from '$/screens/editor/work.svelte';
import { Presence } from '$/screens/editor/presence.svelte';
import { BASE, catalogue, memory } from './graph/support';

/** A server with one pattern: its versions, the newest last, and the user's draft. */
const server = vi.hoisted(() => ({
  versions: [] as unknown[],
  draft: null as { base: number; drawing: unknown; tag: string } | null,
  drafts: 0,
  /** The answer to the next draft is lost on its way. */
  losesAnswer: false,
  /** What happens while a version or a draft is on its way. */
  meanwhile: async () => {},
  isFull: false,
}));

const TELL_EVERY_MS = 15_000;

vi.mock('$/api/editor', async (original) => ({
  ...(await original<object>()),
  getPattern: async () => ({ ...(server.versions.at(-1) as object), versionNumber: server.versions.length }),
  getVersion: async (_: string, version: number) => server.versions[version - 1],
  savePattern: async (_: string, version: number, drawing: Drawing) => {
    if (version !== server.versions.length) throw new ApiError(409, 'CONFLICT', 'There is a newer version.');
    const versionNumber = server.versions.push(drawing);
    server.draft = null;
    await server.meanwhile();
    return { versionNumber };
  },
  getDraft: async () =>
    server.draft && {
      ...(server.draft.drawing as Drawing),
      baseVersion: server.draft.base,
      tag: server.draft.tag,
    },
  putDraft: async (_: string, base: number, drawing: Drawing, inPlaceOf: string | null) => {
    await server.meanwhile();
    if (server.isFull) throw new ApiError(507, 'STORAGE_FULL', 'The disk is full.');
    if (inPlaceOf !== (server.draft?.tag ?? null))
      throw new ApiError(409, 'CONFLICT', 'There is another draft.');
    const tag = `tag ${(server.drafts += 1)}`;
    server.draft = { base, drawing, tag };
    if (server.losesAnswer) {
      server.losesAnswer = false;
      throw new ApiError(0, 'OFFLINE', 'The server can’t be reached.');
    }
    return { updatedAt: '2026-01-01T00:00:00Z', tag };
  },
  tellPresence: async () => ({
    others: [],
    versionNumber: server.versions.length,
    savedBy: null,
    tellEveryMs: TELL_EVERY_MS,
  }),
  leavePresence: async () => {},
  deleteDraft: async () => (server.draft = null),
  validate: async () => ({ diagnostics: [], expressions: [], expressionsOmitted: 0 }),
}));

const set = (name: string, value: unknown): Edit => ({
  kind: 'parameter',
  definition: null,
  node: 'b',
  name,
  value,
});
const others = (...edits: Edit[]) => server.versions.push(drawingOf(edits.reduce(applyEdit, BASE)));
const open = (storage?: JournalStorage) =>
  new Work({
    pattern: 'p',
    catalogue,
    version: 1,
    saved: BASE,
    doc: BASE,
    draftTag: null,
    kept: { at: 'version' },
    storage,
    readOnly: false,
  });
const parameters = (work: Work) => work.doc.graph.nodes.find(({ id }) => id === 'b')?.data?.parameters;
const savedParameters = () =>
  (server.versions.at(-1) as { graphData: Doc['graph'] }).graphData.nodes.find(({ id }) => id === 'b')?.data
    ?.parameters;

beforeEach(() => {
  server.versions = [drawingOf(BASE)];
  server.draft = null;
  server.meanwhile = async () => {};
  server.isFull = false;
  server.losesAnswer = false;
});

const drafted = () =>
  (server.draft?.drawing as { graphData: Doc['graph'] }).graphData.nodes.find(({ id }) => id === 'b')?.data
    ?.parameters;

describe('a draft that two tabs draw', () => {
  test('has what either drew, and each tab gets the other’s with its next edit', async () => {
    const [one, two] = [open(), open()];
    one.store.dispatch(set('one', 1));
    await one.keepDraft();
    two.store.dispatch(set('two', 2));
    await two.keepDraft();
    expect(drafted()).toMatchObject({ one: 1, two: 2 });
    expect(parameters(two)).toMatchObject({ one: 1, two: 2 });
    // A value that was drawn here goes on from where it was: the other has not changed it.
    one.store.dispatch(set('one', 11));
    await one.keepDraft();
    expect(drafted()).toMatchObject({ one: 11, two: 2 });
    expect(one.conflicts.open).toEqual([]);
    // The join is one step.
    one.session.undo();
    expect(parameters(one)).not.toHaveProperty('two');
  });

  test('asks where both drew the same place', async () => {
    const [one, two] = [open(), open()];
    one.store.dispatch(set('value', 'one'));
    await one.keepDraft();
    two.store.dispatch(set('value', 'two'));
    await two.keepDraft();
    expect(two.conflicts.other).toBe('draft');
    expect(two.conflicts.open.map(({ mine, theirs }) => [mine, theirs])).toEqual([['two', 'one']]);
  });

  test('is not at odds with itself after an answer that never came', async () => {
    const work = open();
    work.store.dispatch(set('value', 1));
    server.losesAnswer = true;
    await work.keepDraft();
    expect(work.kept.at).not.toBe('draft');
    work.store.dispatch(set('value', 2));
    await work.keepDraft();
    expect(drafted()).toMatchObject({ value: 2 });
    expect([work.conflicts.list, work.kept.at]).toEqual([[], 'draft']);
  });

  test('takes nothing back that was saved, when it is one of an older version', async () => {
    const [one, two] = [open(), open()];
    two.store.dispatch(set('two', 2));
    one.store.dispatch(set('one', 1));
    await one.save();
    // Still a draft of the first version.
    await two.keepDraft();
    one.store.dispatch(set('more', 3));
    await one.keepDraft();
    expect(parameters(one)).toMatchObject({ one: 1, two: 2, more: 3 });
    expect(drafted()).toMatchObject({ one: 1, two: 2, more: 3 });
    expect(one.conflicts.open).toEqual([]);
  });
});

describe('saving what others have changed too', () => {
  test('joins what differs in other places, and saves', async () => {
    const work = open();
    work.store.dispatch(set('mine', 1));
    others(set('theirs', 2));
    expect(await work.save()).toBe(true);
    expect(work.version).toBe(3);
    expect(savedParameters()).toMatchObject({ mine: 1, theirs: 2 });
  });

  test('saves nothing before each conflict is decided, and then what was decided', async () => {
    const work = open();
    work.store.dispatch(set('value', 'mine'));
    work.store.dispatch(set('all', true));
    others(set('value', 'theirs'), set('all', false));
    expect(await work.save()).toBe(false);
    expect(server.versions).toHaveLength(2);
    expect(work.conflicts.open.map(({ path }) => path.at(-1))).toEqual(['value', 'all']);
    const [value, all] = work.conflicts.list;
    work.decide([value!], 'theirs');
    expect(await work.save()).toBe(false);
    work.decide([all!], 'mine');
    expect(await work.save()).toBe(true);
    expect(savedParameters()).toMatchObject({ value: 'theirs', all: true });
    expect(work.conflicts.list).toEqual([]);
    expect(work.kept).toEqual({ at: 'version' });
  });

  test('the join and all decisions are one step, undone and done again', async () => {
    const work = open();
    work.store.dispatch(set('value', 'mine'));
    const before = work.doc;
    others(set('value', 'theirs'), set('other', 1));
    await work.save();
    const [conflict] = work.conflicts.list;
    work.decide([conflict!], 'theirs');
    expect(parameters(work)).toEqual({ value: 'theirs', other: 1 });
    // Nothing of mine is left, so that nothing counts as changed.
    expect(work.isChanged).toBe(false);
    work.session.undo();
    expect(work.doc).toBe(before);
    expect([work.version, work.conflicts.list, work.isChanged]).toEqual([1, [], true]);
    work.session.redo();
    expect(parameters(work)).toEqual({ value: 'theirs', other: 1 });
    expect([work.version, work.conflicts.list.length, work.conflicts.open.length]).toEqual([2, 1, 0]);
    // What was undone is met again when it is saved.
    work.session.undo();
    expect(await work.save()).toBe(false);
    expect(work.conflicts.open).toHaveLength(1);
  });

  test('a join that is undone after it was saved is met again', async () => {
    const work = open();
    work.store.dispatch(set('mine', 1));
    others(set('theirs', 2));
    await work.save();
    work.session.undo();
    expect(parameters(work)).not.toHaveProperty('theirs');
    expect([work.version, work.isChanged]).toEqual([1, true]);
    work.session.redo();
    expect([work.version, work.isChanged]).toEqual([3, false]);
    work.session.undo();
    expect(await work.save()).toBe(true);
    expect(savedParameters()).toMatchObject({ mine: 1, theirs: 2 });
  });

  test('a join that is undone while it is saved is met again', async () => {
    const work = open();
    work.store.dispatch(set('mine', 1));
    others(set('theirs', 2));
    server.meanwhile = async () => {
      work.session.undo();
      server.meanwhile = async () => {};
    };
    await work.save();
    expect([work.version, work.made, work.isChanged]).toEqual([1, 3, true]);
    work.session.redo();
    expect([work.version, work.isChanged]).toEqual([3, false]);
    work.session.undo();
    expect(await work.save()).toBe(true);
    expect(savedParameters()).toMatchObject({ mine: 1, theirs: 2 });
  });

  test('a decision that is undone by itself is open again', async () => {
    const work = open();
    work.store.dispatch(set('value', 'mine'));
    others(set('value', 'theirs'));
    await work.save();
    work.store.dispatch({ kind: 'move', definition: null, nodes: { b: { x: 500, y: 500 } } });
    work.decide(work.conflicts.open, 'theirs');
    expect(parameters(work)).toMatchObject({ value: 'theirs' });
    work.session.undo();
    expect(parameters(work)).toMatchObject({ value: 'mine' });
    expect(work.conflicts.open).toHaveLength(1);
    expect(await work.save()).toBe(false);
    work.session.redo();
    expect(work.conflicts.open).toEqual([]);
    expect(await work.save()).toBe(true);
    expect(savedParameters()).toMatchObject({ value: 'theirs' });
    work.session.undo();
    work.session.undo();
    work.session.undo();
    expect([work.version, work.conflicts.list]).toEqual([1, []]);
  });

  test('the draft stays one of the version before until everything is decided', async () => {
    const work = open();
    work.store.dispatch(set('value', 'mine'));
    others(set('value', 'theirs'));
    await work.save();
    await work.keepDraft();
    expect(server.draft?.base).toBe(1);
    work.decide(work.conflicts.open, 'mine');
    await work.keepDraft();
    expect(server.draft?.base).toBe(2);
  });

  test('what others save while conflicts are open is added to them', async () => {
    const work = open();
    work.store.dispatch(set('value', 'mine'));
    work.store.dispatch(set('all', true));
    others(set('value', 'theirs'));
    await work.joinNewest();
    others(set('value', 'theirs again'), set('all', false));
    await work.joinNewest();
    expect(work.conflicts.open.map(({ path, theirs }) => [path.at(-1), theirs])).toEqual([
      ['value', 'theirs again'],
      ['all', false],
    ]);
    expect(parameters(work)).toMatchObject({ value: 'mine', all: true });
  });
});

/** A tab that opens the newest version. */
function openNewest(storage?: JournalStorage): Work {
  const { graphData, nodeDefinitions } = server.versions.at(-1) as Drawing;
  const { doc } = readDocument(graphData, nodeDefinitions);
  const version = server.versions.length;
  const kept = { at: 'version' } as const;
  return new Work({
    pattern: 'p',
    catalogue,
    version,
    saved: doc,
    doc,
    draftTag: null,
    kept,
    storage,
    readOnly: false,
  });
}

describe('what a tab that is gone has left', () => {
  test('is joined with what was saved since', () => {
    others(set('value', 'theirs'), set('other', 1));
    const work = openNewest();
    const newest = work.doc;
    const doc = applyEdit(BASE, set('value', 'mine'));
    work.recover({ session: 's', at: 0, version: 1, base: BASE, doc });
    expect(parameters(work)).toEqual({ value: 'mine', other: 1 });
    expect(work.conflicts.open).toHaveLength(1);
    work.session.undo();
    expect(work.doc).toBe(newest);
  });

  test('is joined with what is not saved here either, which stays until something else is decided', async () => {
    const work = open();
    work.store.dispatch(set('value', 'here'));
    work.store.dispatch(set('here', 1));
    const before = work.doc;
    const doc = [set('value', 'lost'), set('lost', 2)].reduce(applyEdit, BASE);
    work.recover({ session: 's', at: 0, version: 1, base: BASE, doc });
    expect(parameters(work)).toEqual({ value: 'here', here: 1, lost: 2 });
    expect([work.conflicts.open.length, work.conflicts.other]).toEqual([1, 'recovered']);
    expect(await work.save()).toBe(false);
    work.decide(work.conflicts.open, 'theirs');
    expect(parameters(work)).toEqual({ value: 'lost', here: 1, lost: 2 });
    work.session.undo();
    work.session.undo();
    expect(work.doc).toBe(before);
    expect(work.conflicts.list).toEqual([]);
  });

  test('is what it had, although the server has a draft of it', async () => {
    const storage = memory();
    const work = open(storage);
    work.store.dispatch(set('mine', 1));
    await work.keepDraft();
    expect(work.kept.at).toBe('draft');
    // Another tab of the same user knows nothing of it, and saves: the draft goes with that.
    const other = open(storage);
    other.store.dispatch(set('theirs', 2));
    expect(await other.save()).toBe(true);
    other.close();
    expect(server.draft).toBeNull();
    const next = openNewest();
    const lost = (await recover(storage, 'p')).filter((each) => !isKeptIn(next.doc, each));
    expect(lost).toMatchObject([{ version: 1, base: BASE, doc: work.doc }]);
    next.recover(lost[0]!);
    expect(parameters(next)).toMatchObject({ mine: 1, theirs: 2 });
  });

  test('belongs to the version before once a join that was saved is undone', async () => {
    const storage = memory();
    const work = open(storage);
    work.store.dispatch(set('mine', 1));
    others(set('theirs', 2));
    await work.save();
    expect(await recover(storage, 'p')).toMatchObject([{ version: 3, base: work.doc, doc: work.doc }]);
    work.session.undo();
    await work.isJournaled();
    const [lost] = await recover(storage, 'p');
    expect(lost).toMatchObject({ version: 1, base: BASE, doc: work.doc });
    // What others have saved is not taken back by what is recovered.
    const next = openNewest();
    next.recover(lost!);
    expect(parameters(next)).toMatchObject({ mine: 1, theirs: 2 });
  });

  test('is never less than what was on its screen, whatever tabs do in turns', async () => {
    const tab = fc.constantFrom(0, 1);
    const value = fc.constantFrom('x', 'y', undefined);
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ tab, name: fc.constantFrom('a', 'b', 'c'), value }) },
      {
        weight: 4,
        arbitrary: fc.record({
          tab,
          does: fc.constantFrom('draft', 'save', 'join', 'undo', 'redo', 'mine', 'theirs', 'close'),
        }),
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        server.versions = [drawingOf(BASE)];
        server.draft = null;
        const storage = memory();
        const tabs: Work[] = [open(storage), open(storage)];
        const gone: { base: Doc; doc: Doc }[] = [];
        const left = (work: Work) => ({ base: work.compared.doc, doc: work.doc });
        for (const each of steps) {
          const work = tabs[each.tab]!;
          if ('name' in each) work.store.dispatch(set(each.name, each.value));
          else if (each.does === 'draft') await work.keepDraft();
          else if (each.does === 'save') await work.save();
          else if (each.does === 'join') await work.joinNewest();
          else if (each.does === 'close') {
            gone.push(left(work));
            work.close();
            tabs[each.tab] = openNewest(storage);
          } else if (each.does === 'undo' || each.does === 'redo') work.session[each.does]();
          else work.decide(work.conflicts.open, each.does === 'mine' ? 'mine' : 'theirs');
          // A draft may be on its way, and another tab's come in with the answer.
          await new Promise(setImmediate);
        }
        // All of them crash.
        gone.push(...tabs.map(left));
        await Promise.all(tabs.map((work) => work.isJournaled()));
        const found = await recover(storage, 'p');
        for (const each of gone) {
          const isThere =
            found.some(({ base, doc }) => isEqual(base, each.base) && isEqual(doc, each.doc)) ||
            isEqual(each.base, each.doc);
          expect(isThere).toBe(true);
        }
        // Whatever is recovered is on the screen afterwards, or to be decided.
        const next = openNewest();
        for (const each of found.filter((lost) => !isKeptIn(next.doc, lost))) {
          next.recover(each);
          const isOpen = next.conflicts.open.length > 0;
          expect(isOpen || isKeptIn(next.doc, each)).toBe(true);
          next.decide(next.conflicts.open, 'mine');
        }
        for (const work of [...tabs, next]) work.close();
      }),
      { numRuns: 150 },
    );
  });
});

test('a rename is followed, but not past a version that somebody else has saved', () => {
  const work = open();
  work.renamed(2);
  expect(work.version).toBe(2);
  work.renamed(4);
  expect(work.version).toBe(2);
});

test('a version is saved behind the draft that is on its way', async () => {
  const work = open();
  work.store.dispatch(set('mine', 1));
  let isOnItsWay = false;
  let arrive = () => {};
  server.meanwhile = () => {
    isOnItsWay = true;
    return new Promise((done) => (arrive = done));
  };
  const draft = work.keepDraft();
  await vi.waitUntil(() => isOnItsWay);
  const version = work.save();
  await Promise.resolve();
  server.meanwhile = async () => {};
  arrive();
  expect(await version).toBe(true);
  await draft;
  expect(work.kept).toEqual({ at: 'version' });
  expect(server.draft).toBeNull();
});

test('a draft that another tab took along with its version is kept again, as soon as it can be', async () => {
  vi.useFakeTimers();
  const work = open();
  work.store.dispatch(set('mine', 1));
  await work.keepDraft();
  expect(work.kept.at).toBe('draft');
  others(set('theirs', 2));
  server.draft = null;
  server.isFull = true;
  const presence = new Presence(work);
  await vi.advanceTimersByTimeAsync(0);
  expect([work.kept.at, server.draft]).toEqual(['memory', null]);
  server.isFull = false;
  await vi.advanceTimersByTimeAsync(TELL_EVERY_MS);
  expect(work.kept.at).toBe('draft');
  expect(server.draft).toMatchObject({ base: 1, drawing: drawingOf(work.doc) });
  presence.close();
  vi.useRealTimers();
});
