// Buffer (Node.js), of which code that handles bytes makes use: making, encodings, reading and writing numbers, comparing.
(native, global) => {
  const { bytesOf } = native;
  const NAMES = new Map(Object.entries({
    "utf8": "utf8", "utf-8": "utf8", "hex": "hex", "base64": "base64", "base64url": "base64url", "ascii": "ascii",
    "latin1": "latin1", "binary": "latin1", "ucs2": "utf16le", "ucs-2": "utf16le", "utf16le": "utf16le", "utf-16le": "utf16le",
  }));
  const encodingOf = (name = "utf8") => {
    const found = NAMES.get(String(name).toLowerCase());
    if (found === undefined) throw new TypeError(`Unknown encoding: ${name}`);
    return found;
  };

  // As Node.js reads them: what does not belong is skipped in base64, and ends hex.
  const fromBase64 = (text) => {
    const end = text.indexOf("=");
    const clean = (end < 0 ? text : text.slice(0, end)).replace(/[^A-Za-z0-9+/\-_]/g, "").replace(/-/g, "+").replace(/_/g, "/");
    const whole = clean.length % 4 === 1 ? clean.slice(0, -1) : clean;
    return Uint8Array.fromBase64(whole, { lastChunkHandling: "loose" });
  };
  const fromHex = (text) => Uint8Array.fromHex(/^(?:[0-9a-f]{2})*/i.exec(text)[0]);
  const encode = (text, encoding) => {
    switch (encoding) {
      case "utf8": return native.encodeUtf8(text);
      case "hex": return fromHex(text);
      case "base64": case "base64url": return fromBase64(text);
      case "latin1": case "ascii": return Uint8Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
      default: {
        const units = Uint16Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
        return new Uint8Array(units.buffer);
      }
    }
  };
  const decode = (bytes, encoding) => {
    switch (encoding) {
      case "utf8": return native.decodeUtf8(bytes, false);
      case "hex": return bytes.toHex();
      case "base64": return bytes.toBase64();
      case "base64url": return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
      default: {
        const wide = encoding === "utf16le";
        const narrow = encoding === "ascii" ? bytes.map((byte) => byte & 127) : bytes;
        const units = wide ? new Uint16Array(bytes.slice(0, bytes.length & ~1).buffer) : narrow;
        let text = "";
        for (let at = 0; at < units.length; at += 4096) text += String.fromCharCode(...units.subarray(at, at + 4096));
        return text;
      }
    }
  };

  // A view of the same memory.
  const viewOf = (bytes) => new Buffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const plain = (buffer) => new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length);
  const clamp = (value, least, most, otherwise) => {
    if (value === undefined) return otherwise;
    const number = Math.trunc(Number(value)) || 0;
    return Math.min(Math.max(number < 0 ? number + most : number, least), most);
  };

  class Buffer extends Uint8Array {
    static poolSize = 8192;
    static from(value, encoding, length) {
      if (typeof value === "string") return viewOf(encode(value, encodingOf(encoding)));
      if (value instanceof ArrayBuffer) return new Buffer(value, encoding, length);
      if (value?.type === "Buffer" && Array.isArray(value.data)) return Buffer.from(value.data);
      if (value === null || typeof value !== "object") {
        throw new TypeError("Buffer.from takes a string, an ArrayBuffer, an array or a Buffer");
      }
      return viewOf(Uint8Array.from(value, (byte) => Number(byte) & 255));
    }
    static of(...bytes) { return Buffer.from(bytes); }
    static alloc(size, fill, encoding) {
      const made = new Buffer(size);
      return fill === undefined ? made : made.fill(fill, encoding);
    }
    static allocUnsafe(size) { return new Buffer(size); }
    static byteLength(value, encoding) {
      return typeof value === "string" ? encode(value, encodingOf(encoding)).length : bytesOf(value).length;
    }
    static concat(list, total = list.reduce((sum, one) => sum + one.length, 0)) {
      const all = new Buffer(total);
      let at = 0;
      for (const one of list) {
        const piece = plain(one).subarray(0, Math.max(total - at, 0));
        all.set(piece, at);
        at += piece.length;
      }
      return all;
    }
    static isBuffer(value) { return value instanceof Buffer; }
    static isEncoding(name) { return NAMES.has(String(name).toLowerCase()); }
    static compare(one, other) {
      const length = Math.min(one.length, other.length);
      for (let at = 0; at < length; at++) if (one[at] !== other[at]) return one[at] < other[at] ? -1 : 1;
      return Math.sign(one.length - other.length);
    }

    get parent() { return this.buffer; }
    get offset() { return this.byteOffset; }
    toString(encoding, start = 0, end = this.length) {
      const from = Math.max(Math.trunc(start) || 0, 0);
      return decode(plain(this).subarray(from, Math.max(Math.trunc(end) || 0, from)), encodingOf(encoding));
    }
    toJSON() { return { type: "Buffer", data: Array.from(this) }; }
    equals(other) { return Buffer.compare(this, other) === 0; }
    compare(other) { return Buffer.compare(this, other); }
    subarray(start, end) { return viewOf(plain(this).subarray(start, end)); }
    // As in Node.js and unlike a Uint8Array's: a view of the same memory.
    slice(start, end) { return this.subarray(start, end); }
    copy(target, at = 0, start = 0, end = this.length) {
      const piece = plain(this).subarray(start, Math.min(end, start + target.length - at));
      target.set(piece, at);
      return piece.length;
    }
    write(text, at = 0, length = this.length - at, encoding = "utf8") {
      if (typeof at === "string") return this.write(text, 0, this.length, at);
      if (typeof length === "string") return this.write(text, at, this.length - at, length);
      const bytes = encode(String(text), encodingOf(encoding)).subarray(0, Math.min(length, this.length - at));
      this.set(bytes, at);
      return bytes.length;
    }
    fill(value, start, end, encoding) {
      if (typeof start === "string") return this.fill(value, 0, this.length, start);
      if (typeof end === "string") return this.fill(value, start, this.length, end);
      const from = clamp(start, 0, this.length, 0), to = clamp(end, 0, this.length, this.length);
      const bytes = typeof value === "string" ? encode(value, encodingOf(encoding)) : value;
      if (typeof bytes === "number") return super.fill(bytes & 255, from, to);
      if (bytes.length === 0) return super.fill(0, from, to);
      for (let at = from; at < to; at++) this[at] = bytes[(at - from) % bytes.length];
      return this;
    }
    #sought(value, encoding) {
      if (typeof value === "number") return new Uint8Array([value & 255]);
      return typeof value === "string" ? encode(value, encodingOf(encoding)) : bytesOf(value);
    }
    indexOf(value, start, encoding) {
      if (typeof start === "string") return this.indexOf(value, 0, start);
      const sought = this.#sought(value, encoding);
      for (let at = clamp(start, 0, this.length, 0); at + sought.length <= this.length; at++) {
        let same = 0;
        while (same < sought.length && this[at + same] === sought[same]) same++;
        if (same === sought.length) return at;
      }
      return -1;
    }
    includes(value, start, encoding) { return this.indexOf(value, start, encoding) >= 0; }
    readUIntBE(at, length) {
      let number = 0;
      for (let byte = 0; byte < length; byte++) number = number * 256 + this.#byte(at + byte);
      return number;
    }
    readUIntLE(at, length) {
      let number = 0;
      for (let byte = length - 1; byte >= 0; byte--) number = number * 256 + this.#byte(at + byte);
      return number;
    }
    #byte(at) {
      if (!(at >= 0 && at < this.length)) throw new RangeError(`There is no byte ${at} in a Buffer of ${this.length}`);
      return this[at];
    }
  }

  const KINDS = {
    UInt8: ["Uint8", 1], Int8: ["Int8", 1], UInt16: ["Uint16", 2], Int16: ["Int16", 2], UInt32: ["Uint32", 4], Int32: ["Int32", 4],
    BigUInt64: ["BigUint64", 8], BigInt64: ["BigInt64", 8], Float: ["Float32", 4], Double: ["Float64", 8],
  };
  for (const [name, [kind, bytes]] of Object.entries(KINDS)) {
    for (const order of bytes === 1 ? [""] : ["LE", "BE"]) {
      const view = (buffer) => new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
      const methods = {
        [`read${name}${order}`](at = 0) { return view(this)[`get${kind}`](at, order === "LE"); },
        [`write${name}${order}`](value, at = 0) {
          view(this)[`set${kind}`](at, value, order === "LE");
          return at + bytes;
        },
      };
      for (const [key, value] of Object.entries(methods)) {
        for (const own of [key, key.replace("UInt", "Uint")]) {
          Object.defineProperty(Buffer.prototype, own, { value, writable: true, configurable: true });
        }
      }
    }
  }
  Object.defineProperty(global, "Buffer", { value: Buffer, writable: true, configurable: true });
}
