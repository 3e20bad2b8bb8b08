-- Counts the lines of the files of a folder, and shows the three answers of a call.
for path in tool.list_files{pattern = "*"}:gmatch("[^\n]+") do
  local text = tool.read_file{path = path} -- a value: the text
  print(path, select(2, text:gsub("\n", "")))
end

print(tool.read_file{path = "gone.txt"}) -- nil and a message: it ran and failed
print(pcall(function() return tool.read_fil{path = "a.txt"} end)) -- an error: it could not be run
