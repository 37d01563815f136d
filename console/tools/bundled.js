import { relative, sep } from 'node:path';

/** A Vite plugin that writes the names of the packages whose code is in the bundle: LICENSES.txt is made of them. */
export function bundledPackages() {
  return {
    name: 'bundled-packages',
    generateBundle(_, bundle) {
      const modules = Object.values(bundle).flatMap((chunk) =>
        chunk.type === 'chunk' ? Object.entries(chunk.modules) : [],
      );
      const names = modules.flatMap(([id, module]) =>
        module.renderedLength > 0 ? (packageOf(id) ?? []) : [],
      );
      // Fonts and styles are no modules with code.
      const source = JSON.stringify([...new Set([...names, '@fontsource-variable/inter'])].sort());
      this.emitFile({ type: 'asset', fileName: '.vite/packages.json', source });
    },
  };
}

function packageOf(id) {
  const path = relative(process.cwd(), id.replace(/^\0/, '').split('?')[0] ?? '');
  const parts = path.split(sep);
  const at = parts.lastIndexOf('node_modules');
  if (at < 0) return undefined;
  const [scope, name] = [parts[at + 1], parts[at + 2]];
  return scope?.startsWith('@') ? `${scope}/${name}` : scope;
}
