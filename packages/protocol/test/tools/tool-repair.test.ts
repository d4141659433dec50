import { limits, repairTool } from "@tendon/protocol";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";

const inputSchema = { type: "object", properties: {} };

function repaired(raw: object, userOnlyByList = false) {
  const result = repairTool({ name: "t", inputSchema, ...raw }, userOnlyByList);
  if (!result.ok) throw new TypeError(`set aside: ${result.setAside.reason}`);
  return result.tool;
}

describe("a valid tool", () => {
  it("is kept with all known fields and no others", () => {
    const raw = {
      name: "self.reboot",
      description: "Restart",
      inputSchema,
      outputSchema: inputSchema,
      extra: 1,
    };
    expect(repairTool(raw, false)).toEqual({
      ok: true,
      tool: {
        name: "self.reboot",
        description: "Restart",
        inputSchema,
        outputSchema: inputSchema,
        audience: "agent",
        repairs: [],
      },
    });
  });

  test.each([
    "self.audio_speaker.set_volume",
    "a b",
    "工具🙂",
    "%s%s%n",
    "x".repeat(limits.toolNameLength.max),
  ])("can be named %j", (name) => {
    expect(repaired({ name }).name).toBe(name);
  });
});

describe("a tool that cannot be offered is set aside, with the reason", () => {
  test.each([
    ["nothing", undefined, "(no name)", "not an object"],
    ["null", null, "(no name)", "not an object"],
    ["text", "self.reboot", "(no name)", "not an object"],
    ["a list", [], "(no name)", "not an object"],
    ["without a name", { inputSchema }, "(no name)", "no name"],
    ["with an empty name", { name: "", inputSchema }, "(no name)", "no name"],
    ["with a number for a name", { name: 5, inputSchema }, "(no name)", "no name"],
    ["with a quote in its name", { name: 'a"b', inputSchema }, 'a"b', "quotes"],
    ["with a backslash in its name", { name: "a\\b", inputSchema }, "a\\b", "backslashes"],
    ["with a line end in its name", { name: "a\nb", inputSchema }, "a b", "control or invisible"],
    ["with a NUL in its name", { name: "a\u0000", inputSchema }, "a", "control or invisible"],
    ["with an escape in its name", { name: "a\u001b[31m", inputSchema }, "a[31m", "control or invisible"],
    ["with a delete in its name", { name: "a\u007f", inputSchema }, "a", "control or invisible"],
    ["that looks like another", { name: "lamp\u200B", inputSchema }, "lamp", "control or invisible"],
    ["that reads backwards", { name: "on\u202Effo", inputSchema }, "onffo", "control or invisible"],
    ["with a hopeless schema", { name: "t", inputSchema: "x" }, "t", "schema is not an object"],
  ])("%s", (_, raw, name, reason) => {
    expect(repairTool(raw, false)).toEqual({
      ok: false,
      setAside: { name, reason: expect.stringContaining(reason) },
    });
  });

  it("when its name is too long, which is truncated in the report", () => {
    expect(repairTool({ name: "x".repeat(100_000), inputSchema }, false)).toEqual({
      ok: false,
      setAside: {
        name: "x".repeat(limits.toolNameLength.max),
        reason: `its name is longer than ${limits.toolNameLength.max}`,
      },
    });
  });
});

describe("a description", () => {
  it("may be missing", () => {
    expect(repaired({})).toMatchObject({ description: "", repairs: [] });
  });

  test.each([[null], [5], [["d"]], [{ en: "d" }]])("that is %j counts as none", (description) => {
    expect(repaired({ description })).toMatchObject({
      description: "",
      repairs: ["the description was not text"],
    });
  });

  it("is kept up to the bound", () => {
    const description = "d".repeat(limits.toolDescriptionLength.max);
    expect(repaired({ description })).toMatchObject({ description, repairs: [] });
  });

  it("beyond the bound is cut", () => {
    const tool = repaired({ description: "d".repeat(limits.toolDescriptionLength.max + 1) });
    expect(tool.description).toBe(`${"d".repeat(limits.toolDescriptionLength.max - 1)}…`);
    expect(tool.repairs).toEqual([expect.stringContaining("was cut")]);
  });
});

describe("[AGT-7] hidden characters", () => {
  it("are removed from every text of a tool and reported", () => {
    const tool = repaired({
      description: "Lights\u{E0049}\u{E0067} the\u200B lamp",
      inputSchema: {
        type: "object",
        properties: { on: { type: "boolean", description: "on\u202E", title: "\u0007O" } },
      },
    });
    expect(tool).toMatchObject({
      description: "Lights the lamp",
      inputSchema: { properties: { on: { description: "on", title: "O" } } },
      repairs: ["the description had invisible characters"],
    });
  });
});

describe("a tool is user-only", () => {
  test.each([
    ["when its annotation says so", { annotations: { audience: ["user"] } }, false, "user"],
    ["when only the list with user tools has it", {}, true, "user"],
    ["when both say so", { annotations: { audience: ["user"] } }, true, "user"],
    [
      "even if its annotation names agents, when the list says so",
      { annotations: { audience: ["assistant"] } },
      true,
      "user",
    ],
    [
      "but not when its annotation names both",
      { annotations: { audience: ["user", "assistant"] } },
      false,
      "agent",
    ],
    [
      "but not when its annotation names agents",
      { annotations: { audience: ["assistant"] } },
      false,
      "agent",
    ],
    ["but not without annotations", {}, false, "agent"],
    ["but not when its annotations are no object", { annotations: "user" }, false, "agent"],
    ["but not when its audience is no list", { annotations: { audience: "user" } }, false, "agent"],
  ])("%s", (_, raw, byList, audience) => {
    expect(repaired(raw, byList).audience).toBe(audience);
  });
});

describe("an output schema", () => {
  test.each([[undefined], [null]])(
    "is omitted when it is %j, so that no structured content is promised",
    (outputSchema) => {
      expect(repaired({ outputSchema })).not.toHaveProperty("outputSchema");
    },
  );

  test.each([["text"], [[]], [{ type: "string" }]])(
    "is dropped when it is %j, and the tool is kept",
    (outputSchema) => {
      const tool = repaired({ outputSchema });
      expect(tool).not.toHaveProperty("outputSchema");
      expect(tool.repairs).toEqual([expect.stringContaining("the output schema was dropped")]);
    },
  );

  it("is repaired like an input schema, and the repairs name which schema they changed", () => {
    const tool = repaired({ outputSchema: { type: "object", properties: { a: { $id: "x" } } } });
    expect(tool.outputSchema).toEqual({ type: "object", properties: { a: {} } });
    expect(tool.repairs).toEqual([
      expect.stringMatching(/^in the output schema: \/properties\/a\/\$id dropped/),
    ]);
  });

  it("has no regular expressions, because agents would run them on the device's answers", () => {
    const outputSchema = {
      type: "object",
      properties: { a: { type: "string", pattern: "(a+)+$" }, b: { not: { pattern: "x" } } },
      patternProperties: { "^x": {} },
      additionalProperties: false,
    };
    const tool = repaired({ outputSchema });
    expect(tool.outputSchema).toEqual({ type: "object", properties: { a: { type: "string" }, b: {} } });
    expect(tool.repairs).toEqual(["in the output schema: regular expressions dropped"]);
  });
});

describe("any list entry of a device", () => {
  it("becomes a tool or is set aside with a reason", () => {
    const fields = fc.constantFrom("name", "description", "inputSchema", "outputSchema", "annotations");
    const junk = fc.oneof(fc.jsonValue(), fc.dictionary(fields, fc.jsonValue()));
    fc.assert(
      fc.property(junk, fc.boolean(), (raw, byList) => {
        const result = repairTool(raw, byList);
        if (result.ok) expect(result.tool.inputSchema.type).toBe("object");
        else expect(result.setAside.reason).not.toBe("");
      }),
    );
  });
});
