// Engines that do not know `await using` yet lack its symbol; compilers that translate it look for this one.
if (!Symbol.asyncDispose) {
  Object.defineProperty(Symbol, "asyncDispose", { value: Symbol.for("Symbol.asyncDispose") });
}
