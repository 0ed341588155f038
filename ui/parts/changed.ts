// Reads again what a page shows. A list or the page of an item provides it, and the buttons in it call it after a change.
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'

/** The provider of the function that reads again. */
export const ChangedContext = createContext<() => void>(() => {})
/** Reads again the list or the item that a component is in. */
export const useChanged = () => useContext(ChangedContext)
