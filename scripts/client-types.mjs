// The types of the protocol that the client uses, as plain TypeScript. The schemas that they come from need another
// package of ours and a library, which a program that only uses the client does not have.

/** Types that are no schemas. */
const plain = {
  EventType: ({ eventTypes }) => union(eventTypes),
  JsonObject: () => "{ readonly [key: string]: unknown }",
};

export function clientTypes(names, protocol) {
  return [...names]
    .sort()
    .map((name) => {
      const type =
        plain[name]?.(protocol) ?? (protocol[name] === undefined ? undefined : typeOf(protocol[name]));
      if (type === undefined)
        throw new Error(`the client uses \`${name}\`, which is not a schema of the protocol`);
      return `export type ${name} = ${type};\n`;
    })
    .join("");
}

function union(values) {
  return values.map((value) => JSON.stringify(value)).join(" | ");
}

function typeOf(schema) {
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return union(schema.enum);
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(" | ");
  if (schema.type === "array") return `(${typeOf(schema.items)})[]`;
  if (schema.type === "object") return objectOf(schema);
  if (schema.type === "integer") return "number";
  return schema.type ?? "unknown";
}

function objectOf({ properties = {}, required = [], patternProperties = {}, additionalProperties }) {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const comment = schema.description === undefined ? "" : `/** ${schema.description} */ `;
    return `${comment}${JSON.stringify(name)}${required.includes(name) ? "" : "?"}: ${typeOf(schema)};`;
  });
  for (const schema of Object.values(patternProperties)) fields.push(`[key: string]: ${typeOf(schema)};`);
  if (additionalProperties === true) fields.push("[key: string]: unknown;");
  return `{\n${fields.join("\n")}\n}`;
}
