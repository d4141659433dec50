import { isAddressName } from "@tendon/protocol";

type Schema = Readonly<Record<string, unknown>>;

/**
 * The schema as a form should show it. Stock boards give the description of an address as its default: filled in, it
 * would be sent as it stands. So it is asked for instead.
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

/** What was meant as a description is shown as one. */
function described({ default: sentence, ...property }: Schema): Schema {
  return { description: sentence, ...property };
}
