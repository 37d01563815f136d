// URL and URLSearchParams (WHATWG URL). Parsing is the native's; the query is handled here.
(native, global) => {
  // As natives.rs orders them.
  const PARTS = [
    "href", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash", "origin",
  ];
  const READ_ONLY = new Set(["href", "origin"]);

  const hex = (byte) => "%" + byte.toString(16).toUpperCase().padStart(2, "0");
  const encode = (text) => {
    let out = "";
    for (const byte of native.encodeUtf8(text)) {
      const character = String.fromCharCode(byte);
      if (/[A-Za-z0-9*\-._]/.test(character)) out += character;
      else out += byte === 0x20 ? "+" : hex(byte);
    }
    return out;
  };
  const decode = (text) => {
    if (!/[%+]/.test(text)) return text.toWellFormed();
    const bytes = [];
    const source = native.encodeUtf8(text);
    for (let at = 0; at < source.length; at += 1) {
      const digits = String.fromCharCode(source[at + 1] ?? 0, source[at + 2] ?? 0);
      if (source[at] === 0x25 && /^[0-9A-Fa-f]{2}$/.test(digits)) {
        bytes.push(parseInt(digits, 16));
        at += 2;
      } else {
        bytes.push(source[at] === 0x2b ? 0x20 : source[at]);
      }
    }
    return native.decodeUtf8(new Uint8Array(bytes), false);
  };
  const parseQuery = (query) => query.split("&").filter((part) => part !== "").map((part) => {
    const at = part.indexOf("=");
    return at < 0 ? [decode(part), ""] : [decode(part.slice(0, at)), decode(part.slice(at + 1))];
  });

  let attach, refresh;
  class URLSearchParams {
    #pairs = [];
    #changed = () => {};
    static {
      attach = (params, changed) => { params.#changed = changed; };
      refresh = (params, query) => { params.#pairs = parseQuery(query.replace(/^\?/, "")); };
    }
    constructor(init = "") {
      if (typeof init === "object" && init !== null) {
        if (typeof init[Symbol.iterator] === "function") {
          for (const pair of init) {
            const both = [...pair];
            if (both.length !== 2) throw new TypeError("Each query pair must be a name and a value");
            this.#pairs.push([String(both[0]), String(both[1])]);
          }
        } else {
          for (const [name, value] of Object.entries(init)) this.#pairs.push([name, String(value)]);
        }
      } else {
        refresh(this, String(init));
      }
    }
    get size() { return this.#pairs.length; }
    append(name, value) {
      this.#pairs.push([String(name), String(value)]);
      this.#changed();
    }
    delete(name, value) {
      this.#pairs = this.#pairs.filter((pair) => pair[0] !== String(name) ||
        (value !== undefined && pair[1] !== String(value)));
      this.#changed();
    }
    get(name) { return this.#pairs.find((pair) => pair[0] === String(name))?.[1] ?? null; }
    getAll(name) { return this.#pairs.filter((pair) => pair[0] === String(name)).map((pair) => pair[1]); }
    has(name, value) {
      return this.#pairs.some((pair) => pair[0] === String(name) &&
        (value === undefined || pair[1] === String(value)));
    }
    set(name, value) {
      const at = this.#pairs.findIndex((pair) => pair[0] === String(name));
      if (at < 0) {
        this.#pairs.push([String(name), String(value)]);
      } else {
        this.#pairs[at] = [String(name), String(value)];
        this.#pairs = this.#pairs.filter((pair, index) => index <= at || pair[0] !== String(name));
      }
      this.#changed();
    }
    sort() {
      this.#pairs.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
      this.#changed();
    }
    forEach(callback, thisArgument) {
      for (const [name, value] of this) callback.call(thisArgument, value, name, this);
    }
    *entries() { for (const pair of this.#pairs) yield [...pair]; }
    *keys() { for (const pair of this.#pairs) yield pair[0]; }
    *values() { for (const pair of this.#pairs) yield pair[1]; }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return this.#pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&"); }
    get [Symbol.toStringTag]() { return "URLSearchParams"; }
  }

  class URL {
    #parts; #params;
    constructor(url, base) {
      this.#take(native.parseUrl(String(url), ...(base === undefined ? [] : [String(base)])), url);
    }
    static canParse(url, base) { return URL.parse(url, base) !== null; }
    static parse(url, base) {
      try {
        return new URL(url, base);
      } catch {
        return null;
      }
    }
    #take(parts, url) {
      if (!parts) throw Object.assign(new TypeError(`Invalid URL: ${url}`), { code: "ERR_INVALID_URL" });
      this.#parts = parts;
      if (this.#params) refresh(this.#params, this.search);
    }
    static #part(url, index) { return url.#parts[index]; }
    static #change(url, name, value) { url.#take(native.changeUrl(url.href, name, String(value)), value); }
    static {
      PARTS.forEach((name, index) => {
        const set = READ_ONLY.has(name) ? undefined : function (value) { URL.#change(this, name, value); };
        const get = function () { return URL.#part(this, index); };
        Object.defineProperty(URL.prototype, name, { get, set, enumerable: true, configurable: true });
      });
      Object.defineProperty(URL.prototype, "href", {
        get() { return this.#parts[0]; },
        set(value) { this.#take(native.parseUrl(String(value)), value); },
        enumerable: true, configurable: true,
      });
    }
    get searchParams() {
      if (!this.#params) {
        const params = new URLSearchParams(this.search);
        attach(params, () => { this.#parts = native.changeUrl(this.href, "search", params.toString()); });
        this.#params = params;
      }
      return this.#params;
    }
    toString() { return this.href; }
    toJSON() { return this.href; }
    get [Symbol.toStringTag]() { return "URL"; }
  }

  for (const [name, value] of Object.entries({ URL, URLSearchParams })) {
    Object.defineProperty(global, name, { value, writable: true, configurable: true });
  }
}
