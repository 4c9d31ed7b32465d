"""Mistakes that checkers must find: every line that ends in `# wrong`, and no other."""
import claygrad as torch
from claygrad import nn, optim

x = torch.zeros(2, 3)
model = nn.Linear(3, 2)
x.trasnpose(0, 1)                                # wrong
x.sum(axs=1)                                     # wrong
x.relu(1, 2, 3)                                  # wrong
nn.Linear("a", 2)                                # wrong
nn.Linear(3)                                     # wrong
nn.Conv2d(3, 4, kernel_size="3")                 # wrong
optim.SGD(model.parameters(), learning_rate=1)   # wrong
optim.Adam(model.parameters(), lr="0.1")         # wrong
optim.AdamW()                                    # wrong
torch.zeross(2)                                  # wrong
torch.cat(x, dim="0")                            # wrong
nn.functional.reluu(x)                           # wrong
x.view("a")                                      # wrong
x.requires_grad = "yes"                          # wrong
torch.float31                                    # wrong
nn.Dropout(p="half")                             # wrong
torch.manual_seed()                              # wrong
x.max(0).valuess                                 # wrong
torch.compile(model, backnd="eager")             # wrong
torch.optim.lr_scheduler.StepLR(model, 1)        # wrong
