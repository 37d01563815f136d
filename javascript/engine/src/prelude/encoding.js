// TextEncoder and TextDecoder (WHATWG Encoding; of its encodings UTF-8, UTF-16 and those of one byte a letter that Western, Central European
// and Cyrillic exports come in). atob and btoa are the engine's own.
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
    "utf-8": "utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
    "utf-16le": "utf-16 csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff",
    "utf-16be": "unicodefffe",
    "windows-1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1 "
      + "iso_8859-1:1987 l1 latin1 us-ascii x-cp1252",
    "iso-8859-2": "csisolatin2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "iso-8859-15": "csisolatin9 iso8859-15 iso885915 iso_8859-15 l9",
    "windows-1250": "cp1250 x-cp1250",
    "windows-1251": "cp1251 x-cp1251",
  };
  // Encodings of one byte a letter: where they begin to differ from U+0000 to U+00FF, and what stands there.
  const LETTERS = {
    __proto__: null,
    "windows-1252": [0x80, "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ"],
    "iso-8859-2": [0xa1, "Ą˘Ł¤ĽŚ§¨ŠŞŤŹ\xadŽŻ°ą˛ł´ľśˇ¸šşťź˝žżŔÁÂĂÄĹĆÇČÉĘËĚÍÎĎĐŃŇÓÔŐÖ×ŘŮÚŰÜÝŢßŕáâăäĺćçčéęëěíîďđńňóôőö÷řůúűüýţ˙"],
    "iso-8859-15": [0xa4, "€¥Š§š©ª«¬\xad®¯°±²³Žµ¶·ž¹º»ŒœŸ"],
    "windows-1250": [0x80, "€\x81‚\x83„…†‡\x88‰Š‹ŚŤŽŹ\x90‘’“”•–—\x98™š›śťžź\xa0ˇ˘Ł¤Ą¦§¨©Ş«¬\xad®Ż°±˛ł´µ¶·¸ąş»Ľ˝ľżŔÁÂĂÄĹĆÇČÉĘËĚÍÎĎĐŃŇÓÔŐÖ×ŘŮÚŰÜÝŢßŕáâăäĺćçčéęëěíîďđńňóôőö÷řůúűüýţ˙"],
    "windows-1251": [0x80, "ЂЃ‚ѓ„…†‡€‰Љ‹ЊЌЋЏђ‘’“”•–—\x98™љ›њќћџ\xa0ЎўЈ¤Ґ¦§Ё©Є«¬\xad®Ї°±Ііґµ¶·ё№є»јЅѕїАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯабвгдежзийклмнопрстуфхцчшщъыьэюя"],
  };
  const encodingOf = (label) => {
    const name = label.replace(/^[\t\n\f\r ]+|[\t\n\f\r ]+$/g, "").toLowerCase();
    return Object.keys(LABELS).find((encoding) => encoding === name || LABELS[encoding].split(" ").includes(name));
  };
  const textOf = (units) => {
    let text = "";
    for (let at = 0; at < units.length; at += 4096) text += String.fromCharCode(...units.subarray(at, at + 4096));
    return text;
  };
  // How many of the last bytes begin a letter of UTF-8 whose other bytes can still come.
  const begunUtf8 = (bytes) => {
    for (let count = 1; count <= Math.min(bytes.length, 3); count++) {
      const byte = bytes[bytes.length - count];
      if (byte >= 0x80 && byte < 0xc0) continue;
      const length = byte < 0xc2 || byte > 0xf4 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
      if (count >= length) return 0;
      if (count === 1) return 1;
      const least = { 0xe0: 0xa0, 0xf0: 0x90 }[byte] ?? 0x80, most = { 0xed: 0x9f, 0xf4: 0x8f }[byte] ?? 0xbf;
      const second = bytes[bytes.length - count + 1];
      return second >= least && second <= most ? count : 0;
    }
    return 0;
  };

  class TextDecoder {
    #encoding; #fatal; #ignoreBOM;
    // Of a text that comes in parts: bytes of a letter that is not whole yet, whether anything came before, whether more is to come.
    #begun = new Uint8Array(0);
    #hasText = false;
    #goesOn = false;
    constructor(label = "utf-8", options) {
      const { fatal = false, ignoreBOM = false } = options ?? {};
      this.#encoding = encodingOf(String(label));
      if (this.#encoding === undefined) {
        throw new RangeError(`The encoding "${label}" is not supported: there are ${Object.keys(LABELS).join(", ")}`);
      }
      this.#fatal = Boolean(fatal);
      this.#ignoreBOM = Boolean(ignoreBOM);
    }
    get encoding() { return this.#encoding; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#ignoreBOM; }
    decode(data, options) {
      let bytes = bytesOf(data);
      if (!this.#goesOn) this.#hasText = false;
      this.#goesOn = Boolean(options?.stream);
      const [letters, begun] = [LETTERS[this.#encoding], this.#begun];
      if (letters !== undefined) {
        const [from, others] = letters;
        const unit = (byte) => (byte >= from && byte < from + others.length ? others.charCodeAt(byte - from) : byte);
        return textOf(Uint16Array.from(bytes, unit));
      }
      if (begun.length > 0) {
        const whole = new Uint8Array(begun.length + bytes.length);
        whole.set(begun);
        whole.set(bytes, begun.length);
        bytes = whole;
        this.#begun = new Uint8Array(0);
      }
      const text = this.#encoding === "utf-8" ? this.#utf8(bytes) : this.#utf16(bytes);
      if (text === undefined) {
        this.#begun = new Uint8Array(0);
        throw new TypeError("The encoded data was not valid");
      }
      const isFirst = !this.#hasText && text !== "";
      if (isFirst) this.#hasText = true;
      return isFirst && !this.#ignoreBOM && text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
    }
    // Leaves `count` bytes for the next part.
    #leave(bytes, count) {
      if (!this.#goesOn || count === 0) return bytes;
      this.#begun = bytes.slice(bytes.length - count);
      return bytes.subarray(0, bytes.length - count);
    }
    #utf8(bytes) {
      return native.decodeUtf8(this.#leave(bytes, this.#goesOn ? begunUtf8(bytes) : 0), this.#fatal);
    }
    #utf16(bytes) {
      const isBig = this.#encoding === "utf-16be";
      const odd = bytes.length % 2;
      // A first half of a pair at the end needs its other half.
      const high = bytes[bytes.length - odd - (isBig ? 2 : 1)];
      const half = high >= 0xd8 && high < 0xdc ? 2 : 0;
      bytes = this.#leave(bytes, odd + half);
      const cut = this.#goesOn ? 0 : odd + half;
      const units = new Uint16Array(bytes.slice(0, bytes.length - cut).buffer);
      if (isBig) units.forEach((unit, at) => { units[at] = (unit >> 8) | (unit << 8); });
      const text = textOf(units);
      if (this.#fatal && (cut > 0 || !text.isWellFormed())) return undefined;
      return text.toWellFormed() + (cut > 0 ? "\ufffd" : "");
    }
  }

  for (const [name, value] of Object.entries({ TextEncoder, TextDecoder })) {
    Object.defineProperty(global, name, { value, writable: true, configurable: true });
  }
}
