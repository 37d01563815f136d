/** The nonce that the policy allows for CodeMirror's style element; empty in development. */
export function nonce(): string {
  const value = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? '';
  return value.startsWith('__') ? '' : value;
}
