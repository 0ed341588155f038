// Values by untrusted names.

type Named = Record<string, string | undefined>

/** The engine uses hidden classes for objects with a constructor; Object.create(null) would be a hash table. */
function Named() {}
Named.prototype = Object.create(null)

/** An empty object for values by name. It inherits nothing, so that no name has a value before it is set. */
export const newNamed = (): Named => new (Named as unknown as new () => Named)()
