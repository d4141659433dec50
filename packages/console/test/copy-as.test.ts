import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { asCommand, asCurl, asMcp } from "../src/ui/copy-as.tsx";

const call = {
  device: "desk",
  tool: "self.say",
  agentName: "desk__say",
  args: { text: 'it\'s $HOME `x` \\ "q"' },
};

/** The arguments as a shell parses them. */
function argumentsOf(command: string): string[] {
  const script = command.replace(/^(curl|npx)/, "printf '%s\\0'");
  return execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0");
}

describe("a copied call", () => {
  it("keeps its arguments in a shell as a command", () => {
    const given = argumentsOf(asCommand(call, "npx tendon"));
    expect(given.slice(0, 4)).toEqual(["tendon", "call", "desk", "self.say"]);
    expect(JSON.parse(given[5] ?? "")).toEqual(call.args);
    expect(asCommand({ ...call, args: {} }, "npx tendon")).toBe("npx tendon call desk self.say");
  });

  it("keeps its arguments in a shell as curl, and contains no token", () => {
    const given = argumentsOf(asCurl(call, "http://127.0.0.1:8000"));
    expect(given).toContain("http://127.0.0.1:8000/api/v1/devices/desk/tools/self.say/call");
    expect(JSON.parse(given[given.indexOf("-d") + 1] ?? "")).toEqual({ arguments: call.args });
    expect(asCurl(call, "http://x")).toContain("Bearer $TENDON_TOKEN");
  });

  it("is an MCP message with the tool's agent name", () => {
    expect(JSON.parse(asMcp(call))).toMatchObject({
      method: "tools/call",
      params: { name: "desk__say", arguments: call.args },
    });
  });
});
