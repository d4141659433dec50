import { isAddressName } from "@tendon/protocol";

type Schema = Readonly<Record<string, unknown>>;

/**
 * Adapts a schema for its form. Stock boards put the description of an address into its default. The form would fill it
 * in and send it, so such a default is removed and the field is required.
 */
export function formSchema(schema: Schema): Schema {
  const { properties } = schema;
  if (typeof properties !== "object" || properties === null) return schema;
  const entries = Object.entries(properties as Record<string, Schema>);
  const odd = entries.filter(([name, { default: given }]) => {
    return isAddressName(name) && typeof given === "string" && given !== "" && !URL.canParse(given);
  });
  if (odd.length === 0) return schema;
  const asked = odd.map(([name]) => name);
  const required = Array.isArray(schema["required"]) ? (schema["required"] as readonly string[]) : [];
  return {
    ...schema,
    properties: Object.fromEntries(
      entries.map(([name, property]) => [name, asked.includes(name) ? described(property) : property]),
    ),
    required: [...new Set([...required, ...asked])],
  };
}

/** Shows such a default as the description instead. */
function described({ default: sentence, ...property }: Schema): Schema {
  return { description: sentence, ...property };
}
