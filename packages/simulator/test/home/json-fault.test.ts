import { expect, it } from "vitest";
import { jsonFault } from "../../src/home/json-fault.ts";

it.each([
  ["x", "Expecting value: line 1 column 1 (char 0)"],
  ["[1,]", "Expecting value: line 1 column 4 (char 3)"],
  ['{"a":1,}', "Expecting property name enclosed in double quotes: line 1 column 8 (char 7)"],
  ['{"a" 1}', "Expecting ':' delimiter: line 1 column 6 (char 5)"],
  ['{"a":[1 2]}', "Expecting ',' delimiter: line 1 column 9 (char 8)"],
  ["{} {}", "Extra data: line 1 column 4 (char 3)"],
  ['["a', "Unterminated string starting at: line 1 column 2 (char 1)"],
  ['["a\t"]', "Invalid control character at: line 1 column 4 (char 3)"],
  ['["\\x"]', "Invalid \\escape: line 1 column 3 (char 2)"],
  ['["\\u12"]', "Invalid \\uXXXX escape: line 1 column 4 (char 3)"],
  // A character outside the basic plane counts once.
  ['["😀" x]', "Expecting ',' delimiter: line 1 column 6 (char 5)"],
])("%s is told as the protocol's specification does", (text, fault) => {
  expect(jsonFault(text)).toBe(fault);
});
