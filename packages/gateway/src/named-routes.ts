const displayName = Symbol.for("fastify.display-name");

/** Names a group of routes. Fastify looks for the name of any other among all loaded modules. */
export function named<Plugin extends object>(name: string, plugin: Plugin): Plugin {
  return Object.assign(plugin, { [displayName]: name });
}
