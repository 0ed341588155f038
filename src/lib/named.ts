// Values by names that others chose.

type Named = Record<string, string | undefined>

/** Objects with a constructor are laid out by their names, as the engine likes it; each of Object.create(null) would be a hash table. */
function Named() {}
Named.prototype = Object.create(null)

/** An empty object for values by name. It inherits nothing: whatever a name is, it is not there before. */
export const newNamed = (): Named => new (Named as unknown as new () => Named)()
