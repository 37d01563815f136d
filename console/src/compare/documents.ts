/** What is compared: versions of a pattern, to look at. */

import { getVersion } from '$/api/editor';
import { query } from '$/api/queries';
import type { Doc } from '$/graph/model';
import { readDocument } from '$/graph/read';

/** A version's document; it never changes. Not asked for while there is no number. */
export const versionDoc = (pattern: () => string, version: () => number) =>
  query<Doc>(
    () => ['version-doc', pattern(), version()],
    async () => {
      const { graphData, nodeDefinitions } = await getVersion(pattern(), version());
      return readDocument(graphData, nodeDefinitions).doc;
    },
    () => ({ enabled: version() > 0, staleTime: Infinity }),
  );
