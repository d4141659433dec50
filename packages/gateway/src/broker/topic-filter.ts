/** Whether an MQTT topic filter (with `+` and `#`) takes in a topic. */
export function filterMatches(filter: string, topic: string): boolean {
  if (filter === topic) return true;
  const levels = filter.split("/");
  const parts = topic.split("/");
  for (const [index, level] of levels.entries()) {
    if (level === "#") return index <= parts.length;
    if (index >= parts.length) return false;
    if (level !== "+" && level !== parts[index]) return false;
  }
  return levels.length === parts.length;
}
