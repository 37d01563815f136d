// crypto.subtle.digest, crypto.randomUUID and crypto.getRandomValues (Web Cryptography). Random numbers are those
// of the call's seed: the same run again gives the same ones.
(native, global) => {
  const ALGORITHMS = new Set(["SHA-1", "SHA-256", "SHA-384", "SHA-512"]);

  const subtle = {
    async digest(algorithm, data) {
      const name = String(algorithm?.name ?? algorithm).toUpperCase();
      if (!ALGORITHMS.has(name)) {
        throw new DOMException(`The digest "${name}" is not supported`, "NotSupportedError");
      }
      return native.digest(name, native.bytesOf(data));
    },
  };
  const getRandomValues = (array) => {
    if (!ArrayBuffer.isView(array) || array instanceof Float32Array || array instanceof Float64Array) {
      throw new DOMException("getRandomValues takes an array of integers", "TypeMismatchError");
    }
    if (array.byteLength > 65_536) {
      throw new DOMException("getRandomValues fills at most 65,536 bytes at a time", "QuotaExceededError");
    }
    native.bytesOf(array).set(native.randomBytes(array.byteLength));
    return array;
  };
  const randomUUID = () => {
    const bytes = native.randomBytes(16);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = bytes.toHex();
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  };

  Object.defineProperty(global, "crypto", {
    value: { subtle, getRandomValues, randomUUID }, writable: true, configurable: true,
  });
}
