/** Where one is, and going elsewhere: the browser's history as state. */

import { type AnyParams, href, match, type Params, type Query, type RouteName, queryText } from './router';

class Location {
  path = $state.raw(window.location.pathname);
  search = $state.raw(window.location.search);
  readonly route = $derived(match(this.path));
  readonly params: AnyParams = $derived(this.route?.params ?? {});
  readonly query = $derived(new URLSearchParams(this.search));
  readonly workspace = $derived(this.params['workspace'] ?? '');
  /** Asked before the page is left; a reason keeps it. */
  #guard: (() => boolean) | undefined;

  /** Reads the address bar. */
  sync(): void {
    this.path = window.location.pathname;
    this.search = window.location.search;
  }

  /** Goes to a path of this site. */
  go(path: string, { replace = false } = {}): void {
    if (this.#guard && !this.#guard()) return;
    if (replace) history.replaceState(null, '', path);
    else if (path !== window.location.pathname + window.location.search) history.pushState(null, '', path);
    this.sync();
  }

  /** Changes parts of the query; filters replace the entry, so that Back leaves the screen. */
  setQuery(changes: Query): void {
    const all: Record<string, string | undefined> = Object.fromEntries(this.query);
    for (const [name, value] of Object.entries(changes))
      all[name] = value === undefined ? undefined : String(value);
    this.go(this.path + queryText(all), { replace: true });
  }

  /** The address of a screen of the same workspace. */
  to<Name extends RouteName>(name: Name, params: Omit<Params<Name>, 'workspace'>, query: Query = {}): string {
    return href(name, { workspace: this.workspace, ...params } as unknown as Params<Name>, query);
  }

  /** Asks before leaving, until the returned function is called. */
  guard(mayLeave: () => boolean): () => void {
    this.#guard = mayLeave;
    return () => {
      if (this.#guard === mayLeave) this.#guard = undefined;
    };
  }

  /** Follows links of this site without loading the page anew. */
  listen(): () => void {
    const followed = (event: MouseEvent) => {
      if (event.defaultPrevented || event.button !== 0) return;
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      const link = (event.target as Element).closest?.('a');
      if (!link || link.target || link.hasAttribute('download') || link.origin !== window.location.origin)
        return;
      if (!match(link.pathname)) return;
      event.preventDefault();
      this.go(link.pathname + link.search);
    };
    const moved = () => this.sync();
    document.addEventListener('click', followed);
    window.addEventListener('popstate', moved);
    return () => {
      document.removeEventListener('click', followed);
      window.removeEventListener('popstate', moved);
    };
  }
}

export const location = new Location();
