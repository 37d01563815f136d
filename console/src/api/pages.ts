/** Lists that are read by cursor, page after page. */

/** Elements of a page, as many as the server gives. */
export const PAGE = 100;

interface Page {
  meta: { nextCursor?: string | null };
}

/** The first pages of a list, at most so many. `get` is given where a page begins: nothing for the first one. */
export async function firstPages<P extends Page>(
  most: number,
  get: (cursor: string) => Promise<P>,
): Promise<{ pages: P[]; hasMore: boolean }> {
  const pages: P[] = [];
  let cursor = '';
  while (pages.length < most) {
    const page = await get(cursor);
    pages.push(page);
    cursor = page.meta.nextCursor ?? '';
    if (!cursor) break;
  }
  return { pages, hasMore: cursor !== '' };
}
