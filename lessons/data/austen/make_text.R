# Makes austen.txt from the R package janeaustenr: Rscript make_text.R, then gzip -9n austen.txt.
# The note of a later editor at the end of Northanger Abbey is left out; everything else is as the package has it.
library(janeaustenr)

pride <- prideprejudice
abbey <- northangerabbey
note <- which(abbey == "A NOTE ON THE TEXT")
stopifnot(length(note) == 1)
lines <- trimws(c(pride, "", "", "", abbey[seq_len(note - 1)]), which = "right")
# More than two empty lines in a row say nothing that two do not.
empty <- lines == ""
third <- empty & c(FALSE, empty[-length(empty)]) & c(FALSE, FALSE, empty[seq_len(length(empty) - 2)])
lines <- lines[!third]
while (lines[length(lines)] == "") lines <- lines[-length(lines)]
output <- file("austen.txt", open = "wb", encoding = "UTF-8")
writeLines(enc2utf8(lines), output, sep = "\n", useBytes = TRUE)
close(output)
