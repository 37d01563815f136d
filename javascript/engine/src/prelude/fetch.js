// fetch with Headers, Response and what of AbortSignal there is (WHATWG Fetch, a part): the host sends, as the node
// HttpRequest does. A body is sent and received as a whole.
(native, global) => {
  const METHODS = new Set(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]);
  const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

  class Headers {
    #list = new Map();
    constructor(init = {}) {
      if (init === null || typeof init !== "object") throw new TypeError("Headers takes an object or pairs");
      const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
      for (const [name, value] of pairs) this.append(name, value);
    }
    static #name(name) {
      if (!TOKEN.test(String(name))) throw new TypeError(`Invalid header name: ${name}`);
      return String(name).toLowerCase();
    }
    append(name, value) {
      const key = Headers.#name(name);
      const text = String(value).trim();
      if (/[\0\r\n]/.test(text)) throw new TypeError(`Invalid value of the header ${key}`);
      const before = this.#list.get(key);
      this.#list.set(key, before === undefined ? [text] : [...before, text]);
    }
    set(name, value) {
      this.#list.delete(Headers.#name(name));
      this.append(name, value);
    }
    get(name) { return this.#list.get(Headers.#name(name))?.join(", ") ?? null; }
    getSetCookie() { return [...(this.#list.get("set-cookie") ?? [])]; }
    has(name) { return this.#list.has(Headers.#name(name)); }
    delete(name) { this.#list.delete(Headers.#name(name)); }
    forEach(callback, thisArgument) {
      for (const [name, value] of this) callback.call(thisArgument, value, name, this);
    }
    *entries() {
      for (const name of [...this.#list.keys()].sort()) yield [name, this.#list.get(name).join(", ")];
    }
    *keys() { for (const [name] of this.entries()) yield name; }
    *values() { for (const [, value] of this.entries()) yield value; }
    [Symbol.iterator]() { return this.entries(); }
    get [Symbol.toStringTag]() { return "Headers"; }
  }

  // A body as {text}, {bytes}, {file} or {pieces}, and the content type that goes with it.
  const bodyOf = (body) => {
    if (body === null || body === undefined) return {};
    if (body instanceof global.URLSearchParams) {
      return { text: body.toString(), type: "application/x-www-form-urlencoded;charset=UTF-8" };
    }
    if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return { bytes: native.bytesOf(body).slice() };
    return native.bodyOfFile(body) ?? native.bodyOfForm(body) ?? { text: String(body), type: "text/plain;charset=UTF-8" };
  };

  class Response {
    #body; #used = false;
    constructor(body = null, { status = 200, statusText = "", headers = {} } = {}) {
      this.#body = bodyOf(body);
      if (this.#body.file) throw new TypeError("A stored file can't be a response's body: read it first, with `await file.bytes()`");
      if (this.#body.pieces) throw new TypeError("A form can't be a response's body");
      this.status = status;
      this.statusText = statusText;
      this.headers = new Headers(headers);
      this.url = "";
      this.redirected = false;
      this.type = "default";
      if (this.#body.type && !this.headers.has("content-type")) this.headers.set("content-type", this.#body.type);
    }
    static json(value, init = {}) {
      const headers = new Headers(init.headers);
      if (!headers.has("content-type")) headers.set("content-type", "application/json");
      return new Response(JSON.stringify(value), { ...init, headers });
    }
    get ok() { return this.status >= 200 && this.status <= 299; }
    get bodyUsed() { return this.#used; }
    #take() {
      if (this.#used) throw new TypeError("The body has been read already");
      this.#used = true;
      return this.#body;
    }
    async text() {
      const { text, bytes } = this.#take();
      return bytes ? new global.TextDecoder().decode(bytes) : text ?? "";
    }
    async json() { return JSON.parse(await this.text()); }
    async bytes() {
      const { text, bytes } = this.#take();
      return bytes ?? native.encodeUtf8(text ?? "");
    }
    async arrayBuffer() { return (await this.bytes()).buffer; }
    async blob() { return new global.Blob([await this.bytes()], { type: this.headers.get("content-type") ?? "" }); }
    clone() {
      if (this.#used) throw new TypeError("The body has been read already");
      const { status, statusText, headers } = this;
      const copy = new Response(null, { status, statusText, headers });
      copy.#body = this.#body;
      return Object.assign(copy, { url: this.url, redirected: this.redirected, type: this.type });
    }
  }

  class AbortSignal {
    aborted = false;
    reason = undefined;
    onabort = null;
    #listeners = new Set();
    static abort(reason) {
      const signal = new AbortSignal();
      signal.trigger(reason);
      return signal;
    }
    // The host keeps the time: it belongs to the request that the signal is given to.
    static timeout(ms) { return Object.assign(new AbortSignal(), { timeoutMs: Number(ms) }); }
    throwIfAborted() { if (this.aborted) throw this.reason; }
    addEventListener(type, listener) { if (type === "abort") this.#listeners.add(listener); }
    removeEventListener(type, listener) { this.#listeners.delete(listener); }
    trigger(reason = new DOMException("This operation was aborted", "AbortError")) {
      if (this.aborted) return;
      this.aborted = true;
      this.reason = reason;
      const event = { type: "abort", target: this };
      for (const listener of [this.onabort, ...this.#listeners]) listener?.call(this, event);
    }
  }
  class AbortController {
    signal = new AbortSignal();
    abort(reason) { this.signal.trigger(reason); }
  }

  const requestOf = (input, init) => {
    const method = String(init.method ?? "GET").toUpperCase();
    if (!METHODS.has(method)) throw new TypeError(`The method ${method} is not supported`);
    const url = global.URL.parse(input);
    if (!url || !/^https?:$/.test(url.protocol)) throw new TypeError(`fetch takes an http or https URL, not ${input}`);
    const headers = new Headers(init.headers ?? {});
    const { text, bytes, file, pieces, type } = bodyOf(init.body);
    if ((text !== undefined || bytes || file || pieces) && (method === "GET" || method === "HEAD")) {
      throw new TypeError(`A ${method} request can't have a body`);
    }
    if (type && !headers.has("content-type")) headers.set("content-type", type);
    const redirect = init.redirect ?? "follow";
    const request = { method, url: url.href, headers: [...headers], followRedirects: redirect === "follow" };
    if (text !== undefined) request.body = { text };
    if (bytes) request.body = { base64: bytes.toBase64() };
    if (file) request.body = { file };
    if (pieces) request.body = { pieces };
    if (init.signal?.timeoutMs > 0) request.timeoutMs = init.signal.timeoutMs;
    return request;
  };
  const responseOf = (answer, url) => {
    const headers = Object.entries(answer.headers ?? {})
      .flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
    const body = answer.base64 === undefined ? answer.text : Uint8Array.fromBase64(answer.base64);
    const response = new Response(body, { status: answer.status, headers: [] });
    response.headers = new Headers(headers);
    return Object.assign(response, { url, type: "basic" });
  };

  const fetch = async (input, init = {}) => {
    const { signal } = init;
    signal?.throwIfAborted();
    const request = requestOf(String(input?.href ?? input), init);
    const answered = native.request("http", request);
    const aborted = new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    const answer = await (signal ? Promise.race([answered, aborted]) : answered);
    if (init.redirect === "error" && answer.status >= 300 && answer.status <= 399) {
      throw new TypeError(`${request.url} redirects, and redirect is "error"`);
    }
    return responseOf(answer, request.url);
  };

  for (const [name, value] of Object.entries({ fetch, Headers, Response, AbortController, AbortSignal })) {
    Object.defineProperty(global, name, { value, writable: true, configurable: true });
  }
}
