import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { asCommand, asCurl, asMcp } from "../src/ui/copy-as.tsx";

const call = {
  device: "desk",
  tool: "self.say",
  agentName: "desk__say",
  args: { text: 'it\'s $HOME `x` \\ "q"' },
};

/** What a shell makes of it: each argument on a line of its own. */
function argumentsOf(command: string): string[] {
  const script = command.replace(/^(curl|npx)/, "printf '%s\\0'");
  return execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0");
}

describe("a call that is copied", () => {
  it("survives a shell as a command", () => {
    const given = argumentsOf(asCommand(call));
    expect(given.slice(0, 4)).toEqual(["tendon", "call", "desk", "self.say"]);
    expect(JSON.parse(given[5] ?? "")).toEqual(call.args);
    expect(asCommand({ ...call, args: {} })).toBe("npx tendon call desk self.say");
  });

  it("survives a shell as curl, and has no token in it", () => {
    const given = argumentsOf(asCurl(call, "http://127.0.0.1:8000"));
    expect(given).toContain("http://127.0.0.1:8000/api/v1/devices/desk/tools/self.say/call");
    expect(JSON.parse(given[given.indexOf("-d") + 1] ?? "")).toEqual({ arguments: call.args });
    expect(asCurl(call, "http://x")).toContain("Bearer $TENDON_TOKEN");
  });

  it("is a message of MCP under the name that agents see", () => {
    expect(JSON.parse(asMcp(call))).toMatchObject({
      method: "tools/call",
      params: { name: "desk__say", arguments: call.args },
    });
  });
});
