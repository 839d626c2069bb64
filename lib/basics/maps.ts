/** Returns the value of a key of a map, or of what keeps values as one does; it is made first where it is not there. */
export function getOrMake<Key, Value>(
  map: { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown },
  key: Key,
  make: () => Value,
): Value {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}
