// TextEncoder and TextDecoder (WHATWG Encoding, UTF-8 and UTF-16LE only). atob and btoa are the engine's own.
(native, global) => {
  const bytesOf = (data) => {
    if (data === undefined) return new Uint8Array(0);
    if (data instanceof ArrayBuffer) return new Uint8Array(data);
    if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    throw new TypeError("expected an ArrayBuffer or a view of one");
  };
  native.bytesOf = bytesOf;

  class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(text = "") { return native.encodeUtf8(String(text)); }
    encodeInto(text, target) {
      let read = 0, written = 0;
      for (const character of String(text)) {
        const bytes = native.encodeUtf8(character);
        if (written + bytes.length > target.length) break;
        target.set(bytes, written);
        written += bytes.length;
        read += character.length;
      }
      return { read, written };
    }
  }

  const LABELS = {
    "utf-8": "utf-8", "utf8": "utf-8", "unicode-1-1-utf-8": "utf-8",
    "utf-16le": "utf-16le", "utf-16": "utf-16le",
  };
  class TextDecoder {
    #encoding; #fatal; #ignoreBOM;
    constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
      this.#encoding = LABELS[String(label).trim().toLowerCase()];
      if (this.#encoding === undefined) throw new RangeError(`The encoding "${label}" is not supported`);
      this.#fatal = Boolean(fatal);
      this.#ignoreBOM = Boolean(ignoreBOM);
    }
    get encoding() { return this.#encoding; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#ignoreBOM; }
    decode(data) {
      const bytes = bytesOf(data);
      const text = this.#encoding === "utf-8" ? native.decodeUtf8(bytes, this.#fatal) : this.#utf16(bytes);
      if (text === undefined) throw new TypeError("The encoded data was not valid");
      return !this.#ignoreBOM && text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
    }
    #utf16(bytes) {
      const units = [];
      for (let at = 0; at + 1 < bytes.length; at += 2) units.push(bytes[at] | (bytes[at + 1] << 8));
      let text = "";
      for (let at = 0; at < units.length; at += 4096) text += String.fromCharCode(...units.slice(at, at + 4096));
      if (bytes.length % 2 === 1) text += "\ufffd";
      if (this.#fatal && !text.isWellFormed()) return undefined;
      return text.toWellFormed();
    }
  }

  for (const [name, value] of Object.entries({ TextEncoder, TextDecoder })) {
    Object.defineProperty(global, name, { value, writable: true, configurable: true });
  }
}
