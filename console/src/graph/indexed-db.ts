/** The journal's storage in IndexedDB. */
import type { JournalRecord, JournalStorage } from './journal';

const STORE = 'records';
const BY_PATTERN = 'pattern';

/** Opens the journal's database; fails where the browser has none, as in some private windows. */
export async function openJournal(factory: IDBFactory, name = 'heddle-journal'): Promise<JournalStorage> {
  const opening = factory.open(name, 1);
  opening.onupgradeneeded = () => {
    const records = opening.result.createObjectStore(STORE, { keyPath: ['session', 'seq'] });
    records.createIndex(BY_PATTERN, 'pattern');
  };
  const database = await finished(opening);
  const transact = (mode: IDBTransactionMode) => {
    // Written to the system at once, but not waited for the disk: a crash of the tab loses nothing.
    const transaction = database.transaction(STORE, mode, { durability: 'relaxed' });
    return { transaction, records: transaction.objectStore(STORE) };
  };
  return {
    async put(record) {
      const { transaction, records } = transact('readwrite');
      records.put(record);
      transaction.commit();
      await completed(transaction);
    },
    async read(pattern) {
      const { records } = transact('readonly');
      return (await finished(records.index(BY_PATTERN).getAll(pattern))) as JournalRecord[];
    },
    async drop(session, before = Infinity) {
      const { transaction, records } = transact('readwrite');
      records.delete(IDBKeyRange.bound([session, 0], [session, before], false, true));
      transaction.commit();
      await completed(transaction);
    },
  };
}

function finished<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('The browser did not open the journal.'));
  });
}

function completed(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error('The browser did not keep the edit.'));
  });
}
