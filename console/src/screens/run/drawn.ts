/** The graph that a run executed: that of its version, to look at. */

import { getVersion } from '$/api/editor';
import { DocumentStore } from '$/graph/document';
import { readDocument } from '$/graph/read';
import { Session } from '$/graph/session';
import { catalogue } from '../editor/catalogue';

export interface Drawn {
  session: Session;
}

export async function drawn(pattern: string, version: number): Promise<Drawn> {
  const [{ graphData, nodeDefinitions }, types] = await Promise.all([
    getVersion(pattern, version),
    catalogue(),
  ]);
  const { doc } = readDocument(graphData, nodeDefinitions);
  return { session: new Session(new DocumentStore(doc), types) };
}
